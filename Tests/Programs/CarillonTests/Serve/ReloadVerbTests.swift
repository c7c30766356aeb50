import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon reload` as a process.
@Suite(.waits) struct ReloadVerbTests {
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

    @Test func `A file that cannot be read is no obstacle for --data, and the error says so`() async throws {
        let scene = try await ServeScene()
        // The directory is the default one, which the file does not name.
        let file = try scene.directory.write(
            "carillon.json5",
            containing: "{ http: { listen: 'off' }, \(ServeScene.anyPorts) apps: { \(scene.app("shop")) } }")
        let serve = try await RunningServe(file)
        let found = try await ChildProcess.run(ChildProcess.carillon, ["reload", "--config", file])
        #expect(found.status == 0 && found.output.hasPrefix("reloaded: no setting changed"), "\(found.errors)")

        _ = try scene.directory.write("carillon.json5", containing: "{ apps: { shop: ")
        let lost = try await ChildProcess.run(ChildProcess.carillon, ["reload", "--config", file])
        #expect(lost.status == 78 && lost.output == "")
        #expect(lost.errors.hasPrefix("carillon reload: the configuration has a fault:\n\(file):1:"), "\(lost.errors)")
        #expect(
            lost.errors.hasSuffix(
                "\nthe data directory is named in this file: correct it, or name the directory with --data DIR\n"),
            "\(lost.errors)")
        // The running Carillon is found, and refuses the file.
        let refused = try await reload(scene)
        #expect(refused.status == 1 && refused.output.hasPrefix("refused: the configuration in force is unchanged\n"))
        #expect(refused.output.contains("\(file):1:"), "\(refused.output)")
        #expect(try await serve.stop().status == 0)
    }
}
