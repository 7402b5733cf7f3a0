"""German formats where Django's own differ from ui.md section 7: "Uhr" after the time, four-digit years."""

DATE_FORMAT = "j. F Y"
SHORT_DATE_FORMAT = "d.m.Y"
TIME_FORMAT = "H:i \\U\\h\\r"
DATETIME_FORMAT = "j. F Y, H:i \\U\\h\\r"
SHORT_DATETIME_FORMAT = "d.m.Y, H:i \\U\\h\\r"
FIRST_DAY_OF_WEEK = 1
DECIMAL_SEPARATOR = ","
THOUSAND_SEPARATOR = "."
NUMBER_GROUPING = 3
DATE_INPUT_FORMATS = ["%d.%m.%Y", "%d.%m.%y", "%Y-%m-%d"]
