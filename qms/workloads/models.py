"""The workload, what is said about it, and the tables of object permissions that hang on it.

The rows here are the current content; each change stores its canonical form as a `ContentVersion`.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.db.models import F, Q
from guardian.models import GroupObjectPermissionBase, UserObjectPermissionBase

from qms.core.ids import uuid7
from qms.roles import guards

if TYPE_CHECKING:
    from qms.roles.models import User


class Organisation(models.Model):
    """The organisation that runs this installation; one row."""

    audit_type: ClassVar[str] = "Organisation"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=200)
    rule_set = models.CharField(max_length=40, default="kompakt")
    single = models.BooleanField(default=True, unique=True, editable=False)

    def __str__(self) -> str:
        return self.name


PLATFORM_TUPLE = ("hardware_gen", "system_release", "framework_release", "operating_model")
"""The columns that have to be filled before a platform can be chosen (S037, G4-7)."""


class PlatformManager(models.Manager["PlatformProfile"]):
    """Lists from which a person chooses a platform go through `complete` (S037)."""

    def complete(self) -> models.QuerySet[PlatformProfile]:
        """Return the profiles of which hardware, system, software and operating model are known."""
        unknown = Q()
        for name in PLATFORM_TUPLE:
            unknown |= Q(**{name: ""})
        return self.exclude(unknown)


class PlatformProfile(models.Model):
    """A platform a workload may run on, with the platform tuple and where each parameter comes from."""

    audit_type: ClassVar[str] = "PlatformProfile"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    key = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=30)
    is_existing = models.BooleanField(help_text="the platform in use today (bestand)")
    is_emulated = models.BooleanField(default=False)
    provider = models.CharField(max_length=120, blank=True)
    hardware_gen = models.CharField(max_length=120)
    system_release = models.CharField(max_length=120)
    framework_release = models.CharField(max_length=120)
    operating_model = models.CharField(max_length=120)
    parameters = models.JSONField(default=list)
    version = models.PositiveIntegerField(default=1)

    objects = PlatformManager()

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_complete(self) -> bool:
        """Whether hardware, system, software and operating model are known."""
        return all(getattr(self, name) for name in PLATFORM_TUPLE)


class WorkloadManager(models.Manager["Workload"]):
    """Everything that lists or fetches workloads for a person goes through `visible_to`."""

    def visible_to(self, user: User) -> models.QuerySet[Workload]:
        """Return the workloads on which the account or one of its role groups holds a grant."""
        return self.filter(pk__in=guards.visible_workload_ids(user))


class Workload(models.Model):
    """An AI workload: model, data, purpose, and who answers for it."""

    audit_type: ClassVar[str] = "Workload"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    title = models.CharField(max_length=160)
    purpose = models.TextField(blank=True)
    business_process = models.CharField(max_length=160, blank=True)
    criticality = models.CharField(max_length=30, blank=True)
    mode = models.CharField(max_length=20, blank=True)
    model_text = models.CharField(max_length=400, blank=True)
    model_file_sha256 = models.CharField(max_length=64, blank=True)
    model_file_name = models.CharField(max_length=200, blank=True)
    model_file_level = models.CharField(max_length=2, blank=True)
    model_digest = models.CharField(max_length=64, blank=True)
    model_facts = models.JSONField(default=dict)
    ai_act_role = models.CharField(max_length=40, blank=True)
    ai_act_risk_class = models.CharField(max_length=40, blank=True)
    owner = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="owned_workloads")
    owner_accepted_at = models.DateTimeField(null=True)
    deputy = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="deputised_workloads")
    created_by = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    status = models.CharField(max_length=30, default="ENTWURF", db_index=True)
    content_sha256 = models.CharField(max_length=64, blank=True)
    criteria_sha256 = models.CharField(max_length=64, blank=True)
    criteria_frozen_at = models.DateTimeField(null=True)

    objects = WorkloadManager()

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]
        default_permissions = ()
        permissions: ClassVar = [
            ("view_workload", "may see the workload"),
            ("own_workload", "may maintain and request"),
            ("run_workload", "may run and hand in evidence"),
            ("review_workload", "may review and vote"),
            ("decide_workload", "may decide"),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(deputy__isnull=True) | Q(owner__isnull=True) | ~Q(deputy=F("owner")),
                name="workload_deputy_is_not_owner",
            ),
            models.CheckConstraint(
                condition=Q(model_text="") | Q(model_file_sha256=""),
                name="workload_model_is_a_text_or_a_file",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def model_name(self) -> str:
        """What people call the model: its text, or the name of the file; empty as long as there is neither."""
        return self.model_text or self.model_file_name


class WorkloadUserGrant(UserObjectPermissionBase):
    """An object permission of one account on one workload (guardian, direct foreign key)."""

    audit_type: ClassVar[str] = "WorkloadUserGrant"
    enabled: ClassVar[bool] = True

    content_object = models.ForeignKey(Workload, models.CASCADE, related_name="user_grants")

    class Meta(UserObjectPermissionBase.Meta):
        abstract = False


class WorkloadGroupGrant(GroupObjectPermissionBase):
    """An object permission of one role group on one workload (guardian, direct foreign key)."""

    audit_type: ClassVar[str] = "WorkloadGroupGrant"
    enabled: ClassVar[bool] = True

    content_object = models.ForeignKey(Workload, models.CASCADE, related_name="group_grants")

    class Meta(GroupObjectPermissionBase.Meta):
        abstract = False


class ContentVersion(models.Model):
    """The canonical content of a workload after one change; written once."""

    audit_type: ClassVar[str] = "ContentVersion"

    workload = models.ForeignKey(Workload, models.PROTECT, related_name="content_versions")
    number = models.PositiveIntegerField()
    content = models.TextField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workload", "number"], name="content_version_number")
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.sha256[:12]}"


class ProcessingLocation(models.Model):
    """Where the data are processed (spec 3.1)."""

    audit_type: ClassVar[str] = "ProcessingLocation"

    workload = models.OneToOneField(Workload, models.PROTECT, related_name="location")
    leaves_own_env = models.BooleanField()
    provider = models.CharField(max_length=120, blank=True)
    region = models.CharField(max_length=120, blank=True)
    country = models.CharField(max_length=120, blank=True)

    def __str__(self) -> str:
        return self.provider or "-"


class ClassificationAnswers(models.Model):
    """The answers to the four plain questions and the version of the rule table that read them (spec 4.5)."""

    audit_type: ClassVar[str] = "ClassificationAnswers"

    workload = models.OneToOneField(Workload, models.PROTECT, related_name="answers")
    answers = models.JSONField()
    rule_version = models.CharField(max_length=20)
    answered_by = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    answered_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.rule_version


class ObjectClassification(models.Model):
    """Level, flags and protection needs of one object class; confirmed by another person than proposed it."""

    audit_type: ClassVar[str] = "ObjectClassification"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workload = models.ForeignKey(Workload, models.PROTECT, related_name="classifications")
    object_class = models.CharField(max_length=30)
    level = models.CharField(max_length=2)
    flags = models.JSONField(default=list)
    protection = models.JSONField(default=dict)
    reason = models.TextField(blank=True)
    access_plan = models.JSONField(default=dict)
    retention_plan = models.JSONField(default=dict)
    proposed_level = models.CharField(max_length=2)
    proposed_flags = models.JSONField(default=list)
    classified_by = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    confirmed_by = models.ForeignKey("roles.Person", models.PROTECT, null=True, related_name="+")
    confirmed_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["object_class"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["workload", "object_class"], name="one_classification_per_object_class"
            ),
            models.CheckConstraint(
                condition=Q(confirmed_by__isnull=True) | ~Q(confirmed_by=F("classified_by")),
                name="classification_four_eyes",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.object_class} {self.level}"


class SuitabilityAnswers(models.Model):
    """Need and suitability as the owner states them (spec G2); a number is None where nobody has answered.

    state_gb: needed state in GB (1e9 bytes), None where it is computed from the model; primary_metrics: the first counts
    for POL-23, an empty list means the throughput; alternatives: [{"option", "verdict"}], verdict is the reason.
    """

    audit_type: ClassVar[str] = "SuitabilityAnswers"

    workload = models.OneToOneField(Workload, models.PROTECT, related_name="suitability")
    org_profile = models.CharField(max_length=30)
    org_profile_reason = models.TextField(blank=True)
    bottleneck_types = models.JSONField(default=list)
    business_reason = models.TextField(blank=True)
    usage_kind = models.CharField(max_length=30)
    runs_per_month = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    hours_per_run = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    requests_per_day = models.PositiveBigIntegerField(null=True)
    planned_runs = models.PositiveIntegerField(null=True)
    team_size = models.PositiveIntegerField(null=True)
    state_gb = models.DecimalField(max_digits=16, decimal_places=3, null=True)
    primary_metrics = models.JSONField(default=list)
    alternatives = models.JSONField(default=list)
    answered_by = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    answered_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~Q(org_profile="SONSTIGE") | ~Q(org_profile_reason=""),
                name="suitability_other_profile_has_reason",
            ),
            models.CheckConstraint(
                condition=(Q(runs_per_month__isnull=True) | Q(runs_per_month__gte=0))
                & (Q(hours_per_run__isnull=True) | Q(hours_per_run__gte=0))
                & (Q(state_gb__isnull=True) | Q(state_gb__gt=0)),
                name="suitability_numbers_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return self.org_profile


class QualityTarget(models.Model):
    """What quality is expected: metric, data, comparator, threshold."""

    audit_type: ClassVar[str] = "QualityTarget"

    workload = models.ForeignKey(Workload, models.PROTECT, related_name="quality_targets")
    target_id = models.CharField(max_length=10)
    metric = models.CharField(max_length=60)
    dataset_version = models.CharField(max_length=120)
    comparator = models.CharField(max_length=2)
    threshold = models.DecimalField(max_digits=20, decimal_places=8)
    unit = models.CharField(max_length=20, blank=True)
    percentile = models.CharField(max_length=5, blank=True)
    confidence_method = models.CharField(max_length=120)

    class Meta:
        ordering: ClassVar = ["target_id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workload", "target_id"], name="quality_target_id")
        ]

    def __str__(self) -> str:
        return self.target_id


class AbortCriterion(models.Model):
    """A machine-checkable abort rule: the text as written and its canonical form (spec 3.11)."""

    audit_type: ClassVar[str] = "AbortCriterion"

    workload = models.ForeignKey(Workload, models.PROTECT, related_name="abort_criteria")
    position = models.PositiveSmallIntegerField()
    template = models.CharField(max_length=10, blank=True)
    category = models.CharField(max_length=20)
    text = models.TextField()
    parsed = models.JSONField()

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workload", "position"], name="abort_criterion_position")
        ]

    def __str__(self) -> str:
        return self.text


class FallbackPath(models.Model):
    """Where the workload runs when the wafer is not an option any more."""

    audit_type: ClassVar[str] = "FallbackPath"

    workload = models.OneToOneField(Workload, models.PROTECT, related_name="fallback")
    platform = models.ForeignKey(PlatformProfile, models.PROTECT, related_name="+")
    steps = models.TextField()
    owner = models.ForeignKey("roles.Person", models.PROTECT, related_name="+")
    rto_min = models.PositiveIntegerField()

    def __str__(self) -> str:
        return str(self.platform)


class Pilot(models.Model):
    """The frame of the pilot: lead, time, money, scope, success measure."""

    audit_type: ClassVar[str] = "Pilot"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workload = models.OneToOneField(Workload, models.PROTECT, related_name="pilot")
    platform = models.ForeignKey(PlatformProfile, models.PROTECT, related_name="+")
    lead = models.ForeignKey("roles.Person", models.PROTECT, related_name="led_pilots")
    start = models.DateField()
    end = models.DateField()
    budget_cap_eur = models.DecimalField(max_digits=12, decimal_places=2)
    scope = models.TextField()
    success_measure = models.TextField()
    status = models.CharField(max_length=30, default="GEPLANT")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(start__lt=F("end")), name="pilot_ends_after_start"),
            models.CheckConstraint(condition=Q(budget_cap_eur__gt=0), name="pilot_has_budget"),
        ]

    def __str__(self) -> str:
        return self.scope
