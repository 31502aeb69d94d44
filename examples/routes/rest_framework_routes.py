"""Limits of Django REST framework, as throttle classes, in one file.

    pip install 'sluicegate[rest-framework]'
    python examples/routes/rest_framework_routes.py runserver 8000
    for i in 1 2 3 4; do curl -i -X POST http://localhost:8000/signup; done
"""

import sys

from django.conf import settings

# Before REST framework is imported.
settings.configure(
    SECRET_KEY="keep this elsewhere",
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    REST_FRAMEWORK={"EXCEPTION_HANDLER": f"{__name__}.too_many", "UNAUTHENTICATED_USER": None},
)

from django.core.management import execute_from_command_line
from django.urls import path

# --8<-- [start:head]
import os
from types import SimpleNamespace

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import Throttled
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler

from sluicegate import RateLimiter
from sluicegate.rest_framework import RouteLimits

URL = os.environ.get("LIMITER_URL", "memory://")  # For several processes: redis://localhost/0.
PROXIES = int(os.environ.get("PROXIES", "0"))
# --8<-- [end:head]


# --8<-- [start:authentication]
class SignedIn(BaseAuthentication):
    """In place of your own: `Authorization: Bearer alice` is alice."""

    def authenticate(self, request):
        name = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return (SimpleNamespace(pk=name, is_authenticated=True), None) if name else None
# --8<-- [end:authentication]


# --8<-- [start:limits]
limits = RouteLimits(RateLimiter(URL, rules=[]), name="shop", trusted_proxies=PROXIES)
ApiThrottle = limits("1000/hour", shared="api")


class ShopView(APIView):
    authentication_classes = [SignedIn]
    renderer_classes = [JSONRenderer]
    throttle_classes = [ApiThrottle]
# --8<-- [end:limits]


# --8<-- [start:address]
class Signup(ShopView):
    throttle_classes = [ApiThrottle, limits("3/hour")]

    def post(self, request):
        return Response({"welcome": "to the shop"})
# --8<-- [end:address]


# --8<-- [start:user]
class Report(ShopView):
    permission_classes = [IsAuthenticated]
    throttle_classes = [limits("4/hour", "20/day")]

    def get(self, request, report):
        return Response({"report": report, "left": request.rate_limit.remaining})
# --8<-- [end:user]


# --8<-- [start:plan]
PLANS = {"alice": 4}  # How many exports a day a user has bought.


class Exports(ShopView):
    permission_classes = [IsAuthenticated]
    throttle_classes = [limits("2/day", limit=lambda request: PLANS.get(request.user.pk))]  # None: the limit of the view.

    def get(self, request):
        return Response({"rows": 250})
# --8<-- [end:plan]


# --8<-- [start:denied]
def too_many(error, context):
    response = exception_handler(error, context)
    if isinstance(error, Throttled):
        response.data = {"error": f"try again in {error.wait} s"}
    return response
# --8<-- [end:denied]


# --8<-- [start:health]
class Health(ShopView):
    throttle_classes = []

    def get(self, request):
        return Response("well")
# --8<-- [end:health]


urlpatterns = [
    path("signup", Signup.as_view()),
    path("reports/<int:report>", Report.as_view()),
    path("exports", Exports.as_view()),
    path("health", Health.as_view()),
]
if __name__ == "__main__":
    execute_from_command_line(sys.argv)
