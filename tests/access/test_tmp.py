import pytest
pytestmark = pytest.mark.django_db

def test_x(world):
    for n, a in world.approvals.items(): print(n, a.status, a.number)
    print(world.extras)
