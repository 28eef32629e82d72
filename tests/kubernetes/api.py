# SPDX-License-Identifier: MPL-2.0
"""The API server of Kubernetes: its objects as dictionaries."""
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request

GROUPS = {  # the group and version of each resource that tests use; "" is the core
    "nodes": "", "pods": "", "secrets": "", "events": "", "persistentvolumes": "",
    "persistentvolumeclaims": "", "serviceaccounts": "", "namespaces": "",
    "deployments": "apps/v1", "daemonsets": "apps/v1", "csinodes": "storage.k8s.io/v1",
    "volumeattachments": "storage.k8s.io/v1", "storageclasses": "storage.k8s.io/v1",
    "csistoragecapacities": "storage.k8s.io/v1",
    "volumeattributesclasses": "storage.k8s.io/v1",
    "endpointslices": "discovery.k8s.io/v1", "leases": "coordination.k8s.io/v1",
    "volumesnapshots": "snapshot.storage.k8s.io/v1",
}


class Refused(Exception):
    """The API server's refusal: its text, and its HTTP status in `status`."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Api:
    def __init__(self, server, ca, token):
        self.server, self.token = server, token
        self.context = ssl.create_default_context(cafile=ca)

    def request(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(
            self.server + path, method=method, data=body and json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": kind})
        try:
            with urllib.request.urlopen(request, context=self.context, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode()) from error

    @staticmethod
    def path(resource, name=None, namespace=None, part=None):
        group = GROUPS[resource]
        words = ["", f"apis/{group}" if group else "api/v1",
                 *(["namespaces", namespace] if namespace else []), resource,
                 *([name] if name else []), *([part] if part else [])]
        return "/".join(words)

    def get(self, resource, name, namespace=None):
        """Return an object, or None if there is none of that name."""
        try:
            return self.request("GET", self.path(resource, name, namespace))
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def list(self, resource, namespace=None, **selector):
        query = urllib.parse.urlencode(selector)
        return self.request("GET", f"{self.path(resource, None, namespace)}?{query}")["items"]

    def create(self, resource, body, namespace=None):
        """Create an object, unless it exists."""
        try:
            return self.request("POST", self.path(resource, None, namespace), body)
        except Refused as error:
            if error.status != 409:
                raise
        return self.get(resource, body["metadata"]["name"], namespace)

    def patch(self, resource, name, body, namespace=None, part=None):
        return self.request("PATCH", self.path(resource, name, namespace, part), body,
                            "application/merge-patch+json")

    def delete(self, resource, name, namespace=None, grace=None):
        """Ask for the deletion of an object, which may be gone already."""
        body = {} if grace is None else {"gracePeriodSeconds": grace}
        try:
            self.request("DELETE", self.path(resource, name, namespace), body)
        except Refused as error:
            if error.status != 404:
                raise

    def token_of(self, account, namespace):
        """Return a token of a ServiceAccount, as kubelet gets one for a pod."""
        path = self.path("serviceaccounts", account, namespace, "token")
        return self.request("POST", path, {"spec": {"expirationSeconds": 86400}})["status"]["token"]
