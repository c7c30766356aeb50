import FoundationEssentials
import PushModel
import PushTime
import PushTransport
import Testing

@testable import PushAPI

/// `GET /v1/credentials` with given credentials.
@Suite struct CredentialsTests {
    private struct Source: CredentialSource {
        let names: [String]
        var hasServer = false

        func credentials() async -> [CredentialAnswer] {
            let server = CredentialAnswer(
                app: nil, kind: .certificate, state: .inUse, name: "CN=push.example", file: "/keys/http.pem")
            return (hasServer ? [server] : [])
                + names.map {
                    CredentialAnswer(app: AppID($0)!, kind: .key, state: .inUse, name: "ABC123DEFG", file: "/keys/a.p8")
                }
        }
    }

    private func ask(_ query: String, apps: [String]? = nil, hasServer: Bool = false) async throws -> APIAnswer {
        let source = Source(names: ["a", "b", "c", "d"], hasServer: hasServer)
        let table = EndpointTable([AnyEndpoint(ListCredentials(source: source))])
        let request = try HTTP1Request(
            method: .get, target: "/v1/credentials\(query)", headers: [:], body: [], peer: .local)
        let caller = apps.map { Caller.tester("watcher", roles: [.observe], apps: $0.map { AppID($0)! }) }
        return await table.answer(request, for: caller ?? .local)
    }

    private func page(
        _ query: String, apps: [String]? = nil, hasServer: Bool = false
    ) async throws -> ([String], String?) {
        let answer = try await ask(query, apps: apps, hasServer: hasServer)
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        let list = try JSONDecoder().decode(CredentialListAnswer.self, from: Data(answer.body))
        return (list.credentials.map { $0.app ?? "-" }, list.next.text)
    }

    @Test func `Pages follow each other, also when the app of a cursor has gone`() async throws {
        #expect(try await page("") == (["a", "b", "c", "d"], nil))
        #expect(try await page("?limit=2") == (["a", "b"], "b"))
        #expect(try await page("?limit=2&after=b") == (["c", "d"], nil))
        #expect(try await page("?limit=2&after=bb") == (["c", "d"], nil))
        #expect(try await page("?after=d") == ([], nil))
        #expect(try await page("?app=c") == (["c"], nil))
    }

    @Test func `The certificate of the HTTP port comes first, for callers that are not limited to apps`() async throws {
        #expect(try await page("", hasServer: true) == (["-", "a", "b", "c", "d"], nil))
        #expect(try await page("?limit=2", hasServer: true) == (["-", "a", "b"], "b"))
        #expect(try await page("?limit=2&after=b", hasServer: true) == (["c", "d"], nil))
        #expect(try await page("?app=a", hasServer: true) == (["a"], nil))
        #expect(try await page("", apps: ["b"], hasServer: true) == (["b"], nil))
    }

    @Test func `A key sees the credentials of its apps`() async throws {
        #expect(try await page("", apps: ["b", "d"]) == (["b", "d"], nil))
        #expect(try await page("?limit=1", apps: ["b", "d"]) == (["b"], "b"))
        #expect(try await ask("?app=a", apps: ["b"]).status == 403)
        #expect(try await ask("?app=x").status == 404)
        #expect(try await ask("?limit=0").status == 422)
    }
}
