"""Addresses of people and accounts; stands before allauth's own, whose pages it partly takes over."""

from django.urls import path, re_path

from qms.web import people_account_views as sign_in
from qms.web import people_views as views

urlpatterns = [
    path("erste-schritte/<str:token>/", views.first_run, name="people_first_run"),
    path("einladung/<str:token>/", views.accept, name="people_accept"),
    path("personen/", views.people_list, name="people_list"),
    path("personen/einladen/", views.invite, name="people_invite"),
    path("personen/<uuid:person_id>/", views.detail, name="people_detail"),
    path("personen/<uuid:person_id>/rolle/", views.request_role, name="people_request_role"),
    path("personen/<uuid:person_id>/konto/", views.invite_account, name="people_invite_account"),
    path("personen/<uuid:person_id>/dienstkonto/", views.service_account, name="people_service_account"),
    path("personen/antraege/<uuid:request_id>/bestaetigen/", views.confirm, name="people_confirm"),
    path("personen/antraege/<uuid:request_id>/ablehnen/", views.reject, name="people_reject"),
    path(
        "personen/konten/<int:account_id>/deaktivieren/",
        views.switch_account,
        {"active": False},
        name="people_deactivate",
    ),
    path(
        "personen/konten/<int:account_id>/aktivieren/",
        views.switch_account,
        {"active": True},
        name="people_reactivate",
    ),
    path("profil/", views.profile, name="people_profile"),
    path("konto/demo/<int:account_id>/", sign_in.demo_login, name="people_demo_login"),
    path("konto/login/", sign_in.Login.as_view(), name="account_login"),
    path("konto/email/", sign_in.no_page, name="account_email"),
    path("konto/password/change/", sign_in.ChangePassword.as_view(), name="account_change_password"),
    path("konto/password/set/", sign_in.SetPassword.as_view(), name="account_set_password"),
    path("konto/password/reset/", sign_in.RequestReset.as_view(), name="account_reset_password"),
    path("konto/password/reset/done/", sign_in.ResetRequested.as_view(), name="account_reset_password_done"),
    re_path(
        r"^konto/password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        sign_in.ResetPassword.as_view(),
        name="account_reset_password_from_key",
    ),
    path("konto/2fa/authenticate/", sign_in.SecondFactor.as_view(), name="mfa_authenticate"),
    path("konto/2fa/totp/activate/", sign_in.ActivateTotp.as_view(), name="mfa_activate_totp"),
    path("konto/2fa/totp/deactivate/", sign_in.DeactivateTotp.as_view(), name="mfa_deactivate_totp"),
    path(
        "konto/2fa/recovery-codes/generate/",
        sign_in.GenerateCodes.as_view(),
        name="mfa_generate_recovery_codes",
    ),
    path("konto/2fa/webauthn/add/", sign_in.AddPasskey.as_view(), name="mfa_add_webauthn"),
    path(
        "konto/2fa/webauthn/keys/<int:pk>/remove/",
        sign_in.RemovePasskey.as_view(),
        name="mfa_remove_webauthn",
    ),
    path("konto/2fa/webauthn/login/", sign_in.PasskeyLogin.as_view(), name="mfa_login_webauthn"),
]
