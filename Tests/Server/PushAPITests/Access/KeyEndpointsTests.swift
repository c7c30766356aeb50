import FoundationEssentials
import PushModel
import PushTime
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

/// Tests of `/v1/keys`.
@Suite(.waits) struct KeyEndpointsTests {
    private func send(
        _ method: HTTP1Method, _ target: String, _ body: String = "", to scene: GuardScene, apps: [AppID]? = nil
    ) async throws -> (status: Int, text: String) {
        let table = EndpointTable(KeyEndpoints.all(scene.registrar, apps: .sample(apps), now: { scene.now.wall }))
        let request = try HTTP1Request(
            method: method, target: target, headers: [:], body: Array(body.utf8), peer: .local)
        let answer = await table.answer(request)
        #expect(try FieldNamesTests.faults(answer.body) == [])
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    @Test func `A key is made, listed without its secret, rotated and revoked`() async throws {
        try await withGuard(isTLS: true) { scene in
            let body = """
                {"name":"orders","roles":["push","observe"],"apps":["shop"],"from":["192.0.2.0/24"],
                 "expires_in_ms":7776000000,"bearer":true,"rate":100}
                """
            let (status, text) = try await send(.post, "/v1/keys", body, to: scene)
            #expect(status == 201, "\(text)")
            let made = try JSONDecoder().decode(MadeKeyAnswer.self, from: Data(text.utf8))
            #expect(
                made.key.roles == ["push", "observe"] && made.key.apps == ["shop"] && made.key.rate == 100
                    && made.key.from == ["192.0.2.0/24"] && made.key.bearer && made.key.state == "active"
                    && made.key.expiresAt == scene.now.wall + .seconds(90 * 86_400))
            let key = Credentials(id: made.key.keyID, secret: try #require(Base64URL.decode(made.secret)))
            #expect(await scene.outcome(try SignedRequest().signed(by: key)) == "orders")
            #expect(await scene.outcome(try SignedRequest().bearing(key.bearer)) == "orders")

            let list = try await send(.get, "/v1/keys", to: scene)
            #expect(list.status == 200 && list.text.contains(key.id) && !list.text.contains(made.secret))
            let rotated = try await send(.post, "/v1/keys/orders/rotate", #"{"overlap_ms":60000}"#, to: scene)
            #expect(rotated.status == 200 && rotated.text.contains("\"secret\""))
            let both = try await send(.get, "/v1/keys", to: scene)
            #expect(both.text.contains("\"overlap_ends_at\":\(scene.now.wall.milliseconds + 60_000)"))
            let revoked = try await send(.post, "/v1/keys/orders/revoke", to: scene)
            #expect(revoked.status == 200 && revoked.text.contains("\"revoked_at\""))
            #expect(try await send(.get, "/v1/keys", to: scene).text == "{\"keys\":[],\"next\":null}\n")
            #expect(try await send(.get, "/v1/keys?ended=true", to: scene).text.contains("\"state\":\"revoked\""))
        }
    }

    @Test func `All faults of a key are reported at once`() async throws {
        try await withGuard { scene in
            let body = """
                {"name":"a b","roles":["psuh",3],"apps":["shop","no way"],"from":["10.0.0.1/8"],"rate":0,"bearer":1,
                 "expires_in_ms":"90d","role":"push"}
                """
            let (status, text) = try await send(.post, "/v1/keys", body, to: scene)
            #expect(status == 422)
            for part in [
                "/name", "/roles/0", "/roles/1",
                "/apps/1",
                "the address has bits behind its prefix; did you mean 10.0.0.0/8?", "/rate", "/bearer",
                "/expires_in_ms", "there is no key \\\"role\\\" here; did you mean \\\"roles\\\"?",
            ] { #expect(text.contains(part), "\(part) is missing in \(text)") }
            #expect(scene.registrar.keys.isEmpty)
        }
    }

    @Test(arguments: [
        ("", 400), ("[]", 422), ("{}", 422), (#"{"name":"a"}"#, 422), (#"{"name":"a","roles":[]}"#, 422),
        (#"{"name":"a","roles":["push"],"apps":[]}"#, 422), (#"{"name":"a","roles":["push"],"name":"b"}"#, 422),
        (#"{"name":"a","roles":["push"],"apps":["bank"]}"#, 404), (#"{"name":"a","roles":["push"],"apps":null}"#, 201),
    ])
    func `Bodies are checked`(_ body: String, _ status: Int) async throws {
        try await withGuard { scene in
            let answer = try await send(.post, "/v1/keys", body, to: scene, apps: [AppID("shop")!])
            #expect(answer.status == status, "\(answer.text)")
        }
    }

    @Test func `Unknown and taken names, and invalid overlaps, are refused`() async throws {
        try await withGuard { scene in
            _ = try await scene.add()
            for (target, body, status) in [
                ("/v1/keys", #"{"name":"orders","roles":["push"]}"#, 409), ("/v1/keys/other/revoke", "", 404),
                ("/v1/keys/other/rotate", #"{"overlap_ms":0}"#, 404), ("/v1/keys/orders/rotate", "{}", 422),
                ("/v1/keys/orders/rotate", #"{"overlap_ms":-1}"#, 422),
                ("/v1/keys/orders/rotate", #"{"overlap_ms":1,"x":2}"#, 422), ("/v1/keys/a%20b/revoke", "", 422),
                ("/v1/keys/orders/rotate", #"{"overlap_ms":99999999999999}"#, 422),
            ] {
                let answer = try await send(.post, target, body, to: scene)
                #expect(answer.status == status, "\(target) \(body): \(answer.text)")
            }
        }
    }

    @Test func `The list has pages, and each key is on one of them`() async throws {
        try await withGuard { scene in
            for number in 0..<7 { _ = try await scene.add("key\(number)") }
            _ = try await scene.registrar.revoke(try #require(APIKeyName("key3")))
            var names: [String] = []
            var target = "/v1/keys?limit=2"
            while true {
                let text = try await send(.get, target, to: scene).text
                let page = try JSONDecoder().decode(KeyListAnswer.self, from: Data(text.utf8))
                names += page.keys.map(\.name)
                #expect(page.keys.count <= 2)
                guard let next = page.next.text else { break }
                target = "/v1/keys?limit=2&after=\(next)"
            }
            #expect(names == ["key0", "key1", "key2", "key4", "key5", "key6"])
            #expect(try await send(.get, "/v1/keys?after=zzzzzzzz", to: scene).status == 422)
        }
    }
}
