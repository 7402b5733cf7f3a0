"""Start page, workloads and screens 1 to 3."""

from django.urls import path

from qms.web import start_views, workload_step_views, workload_views

urlpatterns = [
    path("", start_views.start, name="start"),
    path("workloads/", workload_views.workloads, name="workloads"),
    path("workloads/neu/", workload_views.new, name="workload_new"),
    path("workloads/<uuid:workload_id>/", workload_views.workload, name="workload"),
    path("workloads/<uuid:workload_id>/angaben/", workload_views.edit, name="workload_edit"),
    path("workloads/<uuid:workload_id>/owner/", workload_views.owner, name="workload_owner"),
    path("workloads/<uuid:workload_id>/daten/", workload_step_views.data, name="workload_data"),
    path("workloads/<uuid:workload_id>/daten/stufe/", workload_step_views.adjust, name="workload_adjust"),
    path(
        "workloads/<uuid:workload_id>/daten/bestaetigen/",
        workload_step_views.confirm,
        name="workload_confirm",
    ),
    path("workloads/<uuid:workload_id>/ziele/", workload_step_views.criteria, name="workload_criteria"),
]
