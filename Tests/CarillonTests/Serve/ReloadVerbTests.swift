import TestSupport
import Testing

@testable import carillon

/// Tests of `carillon reload` as a process.
@Suite(.timeLimit(.minutes(10))) struct ReloadVerbTests {
    private func reload(_ scene: ServeScene, _ options: String...) async throws -> ChildProcess.Ended {
        // The data directory is named, because a file with faults does not name it.
        try await ChildProcess.run(
            ChildProcess.carillon, ["reload", "--data", "\(scene.directory.path)/data"] + options)
    }

    @Test func `A reload answers what changed, what needs a restart, and what was refused`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        let serve = try await RunningServe(file)
        let same = try await reload(scene)
        #expect(same.status == 0 && same.errors == "")
        #expect(same.output == "reloaded: no setting changed; keys and certificates were read again\n")

        try scene.configure(
            scene.app("shop"), more: "dedupe: { window: '2d' }, security: { ipc_mode: '0660' },")
        let changed = try await reload(scene)
        #expect(
            changed.output == """
                reloaded:
                  dedupe.window: 7d → 2d
                after a restart:
                  security.ipc_mode: 0600 → 0660

                """)
        #expect(changed.status == 0)
        let json = try await reload(scene, "--json")
        #expect(
            json.status == 0 && json.output.contains("\"needs_restart\":[{") && json.output.contains("\"changed\":[]"))
        let waiting = try await reload(scene)
        #expect(waiting.output.hasPrefix("reloaded: nothing changed that applies now\nafter a restart:\n"))

        try scene.configure(scene.app("shop"), more: "nonsense: 1, dedupe: { window: 7 },")
        let refused = try await reload(scene)
        #expect(refused.status == 1 && refused.output.hasPrefix("refused: the configuration in force is unchanged\n  "))
        #expect(refused.output.contains("nonsense") && refused.output.contains("dedupe.window"))
        let refusedJSON = try await reload(scene, "--json")
        #expect(refusedJSON.status == 1 && refusedJSON.output.contains("\"reloaded\":false"))
        #expect(try await serve.stop().status == 0)
        let stopped = try await reload(scene)
        #expect(stopped.status == 69 && stopped.output == "" && stopped.errors.contains("no Carillon is running"))
    }
}
