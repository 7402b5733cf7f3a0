"""Form fields that read numbers as people in Germany write them, and dates without script."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

_GROUPED: Final = re.compile(r"[1-9]\d{0,2}(\.\d{3})+")
_SPACES: Final = re.compile(r"[\s\u00a0\u202f€%]")


class NumberField(forms.DecimalField):
    """A number with decimal comma or decimal point; points between groups of three are read as such or refused.

    money: "20.000" is twenty thousand. Otherwise it could also be twenty, and the person is asked; "20.000.000"
    can only be one number.
    """

    def __init__(self, *, money: bool = False, **kwargs: Any) -> None:
        self._money = money
        widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
        super().__init__(widget=widget, **kwargs)

    def to_python(self, value: Any) -> Any:
        """Return the number; raises ValidationError for what is none or could be two."""
        if not isinstance(value, str):
            return super().to_python(value)
        text = _SPACES.sub("", value)
        if "," in text:
            whole, _comma, decimals = text.partition(",")
            if "." in decimals or ("." in whole and not _GROUPED.fullmatch(whole)):
                raise ValidationError(self.error_messages["invalid"], code="invalid")
            text = f"{whole.replace('.', '')}.{decimals}"
        elif _GROUPED.fullmatch(text):
            if not self._money and text.count(".") == 1:
                plain, comma = text.replace(".", ""), text.replace(".", ",")
                raise ValidationError(
                    _("Bitte schreiben Sie %(plain)s oder %(comma)s.") % {"plain": plain, "comma": comma}
                )
            text = text.replace(".", "")
        return super().to_python(text)

    def prepare_value(self, value: Any) -> Any:
        """Show a stored number with decimal comma and without trailing zeros."""
        if not isinstance(value, Decimal):
            return value
        text = format(value.normalize(), "f")
        return text.replace(".", ",")


class DayField(forms.DateField):
    """A date, chosen in the browser's calendar or typed as 31.12.2026."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        super().__init__(widget=widget, input_formats=["%Y-%m-%d", "%d.%m.%Y"], **kwargs)
