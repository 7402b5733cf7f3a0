"""Forms about people and accounts."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.password_validation import password_validators_help_texts, validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from qms.roles import selectors
from qms.roles.models import Person, RoleAction, User
from qms.roles.roles import Role


class AccountForm(forms.Form):
    """User name and password of a new account; what the command refuses stands at its field."""

    username = forms.CharField(
        label=lazy("Benutzername"),
        max_length=60,
        help_text=lazy("Buchstaben, Ziffern und @/./+/-/_"),
        widget=forms.TextInput(attrs={"autocomplete": "username"}),
    )
    password = forms.CharField(
        label=lazy("Passwort"),
        strip=False,
        help_text=lazy("Mindestens 12 Zeichen, kein häufiges Passwort."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    password_repeat = forms.CharField(
        label=lazy("Passwort wiederholen"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    @property
    def password_rules(self) -> list[str]:
        """Return the rules of the password as sentences."""
        return password_validators_help_texts()

    def clean_username(self) -> str:
        """Return the name; refuses one that is malformed or taken."""
        username = str(self.cleaned_data["username"])
        User._meta.get_field("username").run_validators(username)
        if selectors.username_taken(username):
            raise ValidationError(_("Dieser Benutzername ist vergeben."))
        return username

    def clean(self) -> dict[str, Any]:
        """Return the values; refuses a weak password and two different ones."""
        data = super().clean() or {}
        password = data.get("password")
        if password and password != data.get("password_repeat"):
            self.add_error("password_repeat", _("Die beiden Passwörter stimmen nicht überein."))
        if password:
            account = User(username=data.get("username", ""), email=str(data.get("email", "")))
            try:
                validate_password(password, account)
            except ValidationError as error:
                self.add_error("password", error)
        return data


class FirstRunForm(AccountForm):
    """The first administrator: the person and its account."""

    field_order = ("display_name", "email", "username", "password", "password_repeat")

    display_name = forms.CharField(label=lazy("Ihr Name"), max_length=120)
    email = forms.EmailField(label=lazy("Ihre E-Mail-Adresse"))


class InvitationForm(forms.Form):
    """A new person to be invited."""

    display_name = forms.CharField(label=lazy("Name"), max_length=120)
    email = forms.EmailField(
        label=lazy("E-Mail-Adresse"),
        help_text=lazy("An diese Adresse geht der Link, mit dem die Person ihr Konto anlegt."),
    )

    def clean_email(self) -> str:
        """Return the address; refuses one that belongs to a person already."""
        email = str(self.cleaned_data["email"])
        if Person.objects.filter(email__iexact=email).exists():
            raise ValidationError(_("Diese E-Mail-Adresse gehört schon zu einer Person."))
        return email


class RoleRequestForm(forms.Form):
    """A role to be granted or revoked, with the reason."""

    role = forms.ChoiceField(label=lazy("Rolle"))
    action = forms.ChoiceField(
        label=lazy("Änderung"),
        choices=((RoleAction.GRANT.value, lazy("erteilen")), (RoleAction.REVOKE.value, lazy("entziehen"))),
    )
    reason = forms.CharField(
        label=lazy("Begründung"),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=lazy("Liest die Person, die bestätigt."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        role_field = self.fields["role"]
        assert isinstance(role_field, forms.ChoiceField)
        role_field.choices = [(role.value, role.label) for role in selectors.available_roles()]

    @property
    def chosen_role(self) -> Role:
        """Return the chosen role."""
        return Role(self.cleaned_data["role"])

    @property
    def chosen_action(self) -> RoleAction:
        """Return the chosen change."""
        return RoleAction(self.cleaned_data["action"])


class ReasonForm(forms.Form):
    """A reason for switching an account on or off, or for rejecting a request."""

    reason = forms.CharField(label=lazy("Begründung"), max_length=1000)


class ServiceAccountForm(forms.Form):
    """A service account of a person."""

    username = forms.CharField(label=lazy("Name des Dienstkontos"), max_length=60)

    def clean_username(self) -> str:
        """Return the name; refuses one that is malformed or taken."""
        username = str(self.cleaned_data["username"])
        User._meta.get_field("username").run_validators(username)
        if selectors.username_taken(username):
            raise ValidationError(_("Dieser Benutzername ist vergeben."))
        return username
