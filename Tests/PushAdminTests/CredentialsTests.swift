import FoundationEssentials
import PushModel
import PushTime
import PushTransport
import Testing

@testable import PushAdmin

/// `GET /v1/credentials` with given credentials.
@Suite struct CredentialsTests {
    private struct Source: CredentialSource {
        let names: [String]

        func credentials() async -> [CredentialAnswer] {
            names.map {
                CredentialAnswer(app: AppID($0)!, kind: .key, state: .inUse, name: "ABC123DEFG", file: "/keys/a.p8")
            }
        }
    }

    private func ask(_ query: String, apps: [String]? = nil) async throws -> AdminAnswer {
        let table = EndpointTable([AnyEndpoint(ListCredentials(source: Source(names: ["a", "b", "c", "d"])))])
        let request = try HTTP1Request(
            method: .get, target: "/v1/credentials\(query)", headers: [:], body: [], peer: .local)
        let caller = apps.map { Caller.tester("watcher", roles: [.observe], apps: $0.map { AppID($0)! }) }
        return await table.answer(request, for: caller ?? .local)
    }

    private func page(_ query: String, apps: [String]? = nil) async throws -> ([String], String?) {
        let answer = try await ask(query, apps: apps)
        try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        let list = try JSONDecoder().decode(CredentialListAnswer.self, from: Data(answer.body))
        return (list.credentials.map(\.app), list.next.text)
    }

    @Test func `Pages follow each other, also when the app of a cursor has gone`() async throws {
        #expect(try await page("") == (["a", "b", "c", "d"], nil))
        #expect(try await page("?limit=2") == (["a", "b"], "b"))
        #expect(try await page("?limit=2&after=b") == (["c", "d"], nil))
        #expect(try await page("?limit=2&after=bb") == (["c", "d"], nil))
        #expect(try await page("?after=d") == ([], nil))
        #expect(try await page("?app=c") == (["c"], nil))
    }

    @Test func `A key sees the credentials of its apps`() async throws {
        #expect(try await page("", apps: ["b", "d"]) == (["b", "d"], nil))
        #expect(try await page("?limit=1", apps: ["b", "d"]) == (["b"], "b"))
        #expect(try await ask("?app=a", apps: ["b"]).status == 403)
        #expect(try await ask("?app=x").status == 404)
        #expect(try await ask("?limit=0").status == 422)
    }
}
