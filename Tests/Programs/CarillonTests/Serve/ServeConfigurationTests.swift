import PushAPI
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// The configuration of a running Carillon over its API, and reloads by requests.
@Suite(.waits) struct ServeConfigurationTests {
    @Test func `A request shows how the file differs, and reloads it like a signal`() async throws {
        let scene = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop")))
        try await serve.line("connection.up")
        let client = APIClient(dataDirectory: serve.served.data, deadline: .seconds(120))
        func read() async throws -> ConfigurationAnswer {
            try await client.ask("GET", at: "/v1/configuration", for: ConfigurationAnswer.self)
        }
        func reload() async throws -> ReloadAnswer {
            try await client.ask("POST", at: "/v1/reload", for: ReloadAnswer.self)
        }
        let first = try await read()
        #expect(first.differences.isEmpty && first.faults.isEmpty)
        #expect(first.settings.contains { $0.path == "dedupe.window" && $0.value == "7d" && $0.applies == "live" })

        try scene.configure(scene.app("shop"), http: "127.0.0.1:9", more: "dedupe: { window: '1d' },")
        let changed = try await read()
        #expect(Set(changed.differences.map(\.path)) == ["dedupe.window", "http.listen"])
        let done = try await reload()
        #expect(done.reloaded && done.refused.isEmpty)
        #expect(done.changed.map(\.path) == ["dedupe.window"] && done.changed.first?.now == "1d")
        #expect(done.needsRestart.map(\.path) == ["http.listen"])
        try await serve.line("configuration.reloaded")
        // What needs a restart still differs.
        let after = try await read()
        #expect(after.differences.map(\.path) == ["http.listen"])

        try scene.configure(scene.app("shop"), more: "wrong: 1, worse: 2,")
        let faulty = try await read()
        #expect(faulty.faults.count == 2)
        let refused = try await reload()
        #expect(!refused.reloaded && refused.refused.count == 2 && refused.changed.isEmpty)
        let kept = try await read()
        #expect(kept.settings.contains { $0.path == "dedupe.window" && $0.value == "1d" })
        // Requests and signals at the same time are carried out one after the other.
        try scene.configure(scene.app("shop"), more: "dedupe: { window: '2d' },")
        serve.reload()
        async let one = reload()
        async let other = reload()
        let both = try await [one, other]
        #expect(both[0].reloaded && both[1].reloaded)
        let changes = both.flatMap { $0.changed.map(\.path) }.filter { $0 == "dedupe.window" }
        #expect(changes.count <= 1)
        let last = try await read()
        #expect(last.settings.contains { $0.path == "dedupe.window" && $0.value == "2d" })
        #expect(try await serve.stop().status == 0)
    }
}
