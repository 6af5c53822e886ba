#!/usr/bin/env python3
"""Schemas over HTTP: kept by URI, and by type and version.

Usage: schemas_test.py PAWL [TEST...]
"""
import urllib.parse

from jobs_kit import Shared, queue_name
from server_kit import main, test

SERVER = Shared()
BY_URI = "/ojs/v1/schemas"
BY_TYPE = "/ojs/v1/admin/schemas"


def path_of(uri):
    return f"{BY_URI}/{urllib.parse.quote(uri, safe='')}"


# ---- by URI ----

@test
def keeps_a_schema_under_its_uri():
    for uri in ["urn:ojs:schema:" + queue_name(), "https://example.org/a/b.json?v=1&x=é%20"]:
        body = {"uri": uri, "type": "a.b", "version": "1.0.0", "schema": {"type": "array", "n": 1}}
        reply = SERVER.post(BY_URI, body, 201)
        made = reply["schema"]
        assert {name: made[name] for name in body} == body and made["created_at"].endswith("Z")
        assert SERVER.get(path_of(uri)) == reply
        SERVER.refused("POST", BY_URI, body, 409, "conflict")
        assert SERVER.delete(path_of(uri)) == {"deleted": True, "uri": uri}
        for method in ["GET", "DELETE"]:
            SERVER.refused(method, path_of(uri), None, 404, "not_found", resource_type="schema",
                           resource_id=uri)


@test
def keeps_every_byte_of_a_schema():
    uri, schema = queue_name(), '{"maximum":1.50,"x":[1e3,12345678901234567890,"\\u00e9"]}'
    reply = SERVER.raw("POST", BY_URI, f'{{"uri":"{uri}","schema":{schema}}}')
    assert reply.status == 201 and schema.encode() in reply.body, reply.body
    assert SERVER.ask("GET", path_of(uri)).body == reply.body


@test
def refuses_schemas_that_are_none():
    good = {"uri": queue_name(), "schema": {}}
    for change, field in [({"schema": None}, "schema"), ({"schema": []}, "schema"),
                          ({"schema": "x"}, "schema"), ({"uri": None}, "uri"), ({"uri": ""}, "uri"),
                          ({"uri": "a b"}, "uri"), ({"uri": "u" * 201}, "uri"), ({"uri": 7}, "uri"),
                          ({"uri": "a\0b"}, "uri"), ({"type": 7}, "type")]:
        SERVER.refused("POST", BY_URI, {**good, **change}, 400, "invalid_request", field=field)
    SERVER.refused("POST", BY_URI, b"", 400, "invalid_payload")
    SERVER.refused("GET", path_of("u" * 201), None, 400, "invalid_request", field="uri")
    big = {**good, "schema": {"x": "y" * (1 << 20)}}
    SERVER.refused("POST", BY_URI, big, 413, "envelope_too_large")


@test
def lists_schemas_page_by_page():
    with Shared() as server:
        uris = [f"urn:{i:02}" for i in range(25)]
        for uri in uris:
            server.post(BY_URI, {"uri": uri, "schema": {}}, 201)

        def listed(query=""):
            reply = server.get(BY_URI + query)
            return [schema["uri"] for schema in reply["schemas"]], reply["pagination"]
        found, page = listed()
        assert found == uris and page["total"] == 25 and page["has_more"] is False, page
        found, page = listed("?limit=10")
        assert found == uris[:10] and page["has_more"] is True
        assert listed("?limit=10&offset=20")[0] == uris[20:]
        assert listed("?page=2&per_page=10")[0] == uris[10:20]
        assert listed("?offset=25")[0] == []
        for query, field in [("limit=101", "limit"), ("cursor=garbage", "cursor"),
                             ("per_page=0", "per_page"),
                             ("page=0", "page")]:
            server.refused("GET", f"{BY_URI}?{query}", None, 400, "invalid_request", field=field)
        assert server.get(BY_TYPE)["items"] == []


# ---- by type ----

@test
def keeps_schemas_of_a_type_by_version():
    kind = "t." + queue_name()
    for version in ["2", "10", "9"]:
        made = SERVER.put(f"{BY_TYPE}/{kind}/{version}", {"schema": {"v": version}}, 201)
        assert (made["type"], made["version"], made["schema"]) == (kind, int(version),
                                                                   {"v": version}), made
        assert SERVER.get(f"{BY_TYPE}/{kind}/{version}") == made
    SERVER.refused("PUT", f"{BY_TYPE}/{kind}/9", {"schema": {}}, 409, "conflict")
    assert SERVER.get(f"{BY_TYPE}/{kind}")["version"] == 10
    listed = SERVER.get(f"{BY_TYPE}/{kind}/versions")
    assert sorted(listed["versions"]) == [2, 9, 10] and listed["type"] == kind, listed
    assert len(listed["items"]) == 3
    reply = SERVER.delete(f"{BY_TYPE}/{kind}/10")
    assert reply == {"deleted": True, "type": kind, "version": 10}, reply
    assert SERVER.get(f"{BY_TYPE}/{kind}")["version"] == 9
    SERVER.refused("GET", f"{BY_TYPE}/{kind}/10", None, 404, "not_found", resource_type="schema")
    SERVER.refused("DELETE", f"{BY_TYPE}/{kind}/10", None, 404, "not_found")


@test
def orders_versions_by_their_numbers():
    kind = "t." + queue_name()
    for version in ["1.9", "1.10", "1.2.3"]:
        made = SERVER.put(f"{BY_TYPE}/{kind}/{version}", {"args_schema": {}}, 201)
        assert made["version"] == version
    assert SERVER.get(f"{BY_TYPE}/{kind}")["version"] == "1.10"


@test
def does_not_mix_up_types_that_begin_alike():
    kind = "t." + queue_name()
    SERVER.put(f"{BY_TYPE}/{kind}.more/1", {"schema": {}}, 201)
    SERVER.refused("GET", f"{BY_TYPE}/{kind}", None, 404, "not_found", resource_id=kind)
    assert SERVER.get(f"{BY_TYPE}/{kind}/versions")["versions"] == []


@test
def refuses_schemas_of_types_that_are_none():
    kind = "t." + queue_name()
    for body in [{}, {"schema": None}, {"schema": 7}]:
        SERVER.refused("PUT", f"{BY_TYPE}/{kind}/1", body, 400, "invalid_request", field="schema")
    SERVER.refused("PUT", f"{BY_TYPE}/{kind}/{'1' * 33}", {"schema": {}}, 400, "invalid_request",
                   field="type")
    SERVER.refused("PUT", f"{BY_TYPE}/a%20b/1", {"schema": {}}, 400, "invalid_request",
                   field="type")
    SERVER.refused("PUT", f"{BY_TYPE}/{kind}/1", b"", 400, "invalid_payload")


@test
def keeps_schemas_over_a_restart():
    with Shared() as server:
        server.put(f"{BY_TYPE}/a.b/1", {"schema": {"x": 1}}, 201)
        server.restart()
        assert server.get(f"{BY_TYPE}/a.b/1")["schema"] == {"x": 1}


@test
def ends_without_a_complaint():
    SERVER.ends_well()


if __name__ == "__main__":
    main()
