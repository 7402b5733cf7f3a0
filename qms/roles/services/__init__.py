"""What can be done to people, accounts and roles; every command is audited and keyword-only."""

from qms.roles.services.people import (
    accept_invitation,
    create_first_administrator,
    deactivate_account,
    invite_account,
    invite_person,
    issue_first_run_link,
    reactivate_account,
    register_service_account,
)
from qms.roles.services.role_changes import confirm_role, reject_role, request_role
from qms.roles.services.sign_in import (
    SignInMethod,
    changing_means,
    record_blocked_sign_in,
    record_failed_sign_in,
    record_sign_in,
)

__all__ = [
    "SignInMethod",
    "accept_invitation",
    "changing_means",
    "confirm_role",
    "create_first_administrator",
    "deactivate_account",
    "invite_account",
    "invite_person",
    "issue_first_run_link",
    "reactivate_account",
    "record_blocked_sign_in",
    "record_failed_sign_in",
    "record_sign_in",
    "register_service_account",
    "reject_role",
    "request_role",
]
