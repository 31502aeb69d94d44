"""Limits at the views of Django, in one file.

    pip install 'sluicegate[django]'
    python examples/routes/django_routes.py runserver 8000
    for i in 1 2 3 4; do curl -i -X POST http://localhost:8000/signup; done
"""

# --8<-- [start:head]
import os
import sys
from types import SimpleNamespace

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.management import execute_from_command_line
from django.http import HttpResponse, JsonResponse
from django.urls import path

from sluicegate import RateLimiter
from sluicegate.django import RouteLimits

URL = os.environ.get("LIMITER_URL", "memory://")  # For several processes: redis://localhost/0.
PROXIES = int(os.environ.get("PROXIES", "0"))
# --8<-- [end:head]


# --8<-- [start:denied]
def too_many(request, decision):
    return JsonResponse({"error": f"try again in {decision.retry_after:.0f} s"}, status=429)
# --8<-- [end:denied]


# --8<-- [start:limits]
limits = RouteLimits(RateLimiter(URL, rules=[]), name="shop", on_denied=too_many, trusted_proxies=PROXIES)
# --8<-- [end:limits]


# --8<-- [start:address]
@limits("3/hour")
def signup(request):
    return JsonResponse({"welcome": "to the shop"})
# --8<-- [end:address]


# --8<-- [start:user]
@login_required
@limits("4/hour", "20/day")
def report(request, report):
    return JsonResponse({"report": report, "left": request.rate_limit.remaining})
# --8<-- [end:user]


# --8<-- [start:plan]
PLANS = {"alice": 4}  # How many exports a day a user has bought.


@login_required
@limits("2/day", limit=lambda request: PLANS.get(request.user.pk))  # None: the limit of the view.
def exports(request):
    return JsonResponse({"rows": 250})
# --8<-- [end:plan]


def health(request):
    return HttpResponse("well")


def authentication(get_response):
    """In place of Django's own: `Authorization: Bearer alice` is alice."""

    def middleware(request):
        name = request.headers.get("Authorization", "").removeprefix("Bearer ")
        request.user = SimpleNamespace(pk=name, is_authenticated=bool(name))
        return get_response(request)

    return middleware


urlpatterns = [
    path("signup", signup),
    path("reports/<int:report>", report),
    path("exports", exports),
    path("health", health),
]
if __name__ == "__main__":
    settings.configure(
        SECRET_KEY="keep this elsewhere",
        ROOT_URLCONF=__name__,
        ALLOWED_HOSTS=["*"],
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes"],
        MIDDLEWARE=[f"{__name__}.authentication"],
    )
    execute_from_command_line(sys.argv)
