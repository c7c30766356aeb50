import FoundationEssentials
import Glibc
import PushAPI
import TestSupport
import TestTraits
import Testing

/// Tests of `carillon keys api` as a process, with a stopped data directory and with a running Carillon.
@Suite(.waits) struct KeysAPIProcessTests {
    private func keys(_ arguments: [String], data: String) async throws -> ChildProcess.Ended {
        try await ChildProcess.run(ChildProcess.carillon, ["keys", "api"] + arguments + ["--data", data])
    }

    private func made(_ ended: ChildProcess.Ended) throws -> MadeKeyAnswer {
        try #require(ended.status == 0, "\(ended.errors)")
        return try JSONDecoder().decode(MadeKeyAnswer.self, from: Data(ended.output.utf8))
    }

    @Test func `Keys of a stopped data directory are made, listed, rotated and revoked`() async throws {
        let directory = try TemporaryDirectory()
        let data = "\(directory.path)/data"
        let added = try await keys(["add", "orders", "--role", "push", "--app", "shop", "--rate", "100/s"], data: data)
        #expect(added.status == 0 && added.errors.isEmpty, "\(added.errors)")
        #expect(added.output.contains("Created the key orders: push; app shop; 100 requests/s."))
        #expect(added.output.contains("from its next start"))
        let bearer = try made(
            try await keys(
                [
                    "add", "prometheus", "--role", "observe", "--bearer", "--expires", "90d", "--from", "10.0.0.0/8",
                    "--json",
                ],
                data: data))
        #expect(bearer.key.bearer && bearer.key.expiresAt != nil && bearer.secret.utf8.count == 43)
        let list = try await keys(["list"], data: data)
        #expect(list.output.contains("orders") && list.output.contains(bearer.key.keyID))
        #expect(!list.output.contains(bearer.secret))
        let rotated = try await keys(["rotate", "orders", "--overlap", "1h"], data: data)
        #expect(rotated.status == 0 && rotated.output.contains("valid for another 1h"), "\(rotated.output)")
        let revoked = try await keys(["revoke", "orders"], data: data)
        #expect(revoked.status == 0 && revoked.output.contains("Revoked the key orders ("), "\(revoked.output)")
        #expect(try await !keys(["list"], data: data).output.contains("orders"))
        let all = try await keys(["list", "--all", "--json"], data: data)
        let ended = try all.output.split(separator: "\n").map {
            try JSONDecoder().decode(KeyAnswer.self, from: Data($0.utf8))
        }
        #expect(ended.map(\.state) == ["revoked", "active", "revoked"])
        let wrong = try await keys(["add", "orders", "--role", "observer"], data: data)
        #expect(wrong.status == 64 && wrong.errors.contains("not 'observer'; did you mean 'observe'?"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make files for another user"))
    func `Files that root makes in the directory of another user belong to that user`() async throws {
        let directory = try TemporaryDirectory()
        let data = "\(directory.path)/data"
        try #require(mkdir(data, 0o700) == 0 && chown(data, 65534, 65534) == 0)
        #expect(try await keys(["list"], data: data).status == 0)
        #expect(try await keys(["add", "orders", "--role", "push"], data: data).status == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: data)
        #expect(Set(names).isSuperset(of: ["registry.db", "api.key", "carillon.lock"]), "\(names)")
        for name in names {
            var status = stat()
            #expect(lstat("\(data)/\(name)", &status) == 0 && status.st_uid == 65534, "\(name)")
        }
    }

    @Test(
        arguments: [
            (["add", "orders"], 64, "'--role' is missing"), (["add", "--role", "push"], 64, "NAME is missing"),
            (["add", "orders", "--role", "psuh"], 64, "did you mean 'push'?"),
            (["add", "or ders", "--role", "push"], 65, "1 to 64 letters"),
            (["add", "orders", "--role", "push", "--expires", "soon"], 64, "'--expires' must be a duration"),
            (["add", "orders", "--role", "push", "--rate", "0/s"], 64, "'--rate' must be a number"),
            (["add", "orders", "--role", "push", "--from", "10.0.0.1/8"], 65, "did you mean 10.0.0.0/8?"),
            (["revoke", "orders"], 65, "there is no valid key \"orders\""),
            (["rotat", "orders"], 64, "did you mean 'rotate'?"),
        ] as [([String], Int32, String)])
    func `Mistakes are explained`(_ arguments: [String], _ status: Int32, _ words: String) async throws {
        let directory = try TemporaryDirectory()
        let ended = try await keys(arguments, data: "\(directory.path)/data")
        #expect(ended.status == status && ended.errors.contains(words), "\(ended.status) \(ended.errors)")
        #expect(ended.output.isEmpty)
    }

    @Test func `A running Carillon makes the keys, and they survive its restart`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        let data = "\(scene.directory.path)/data"
        // This key is made before the first start.
        let early = try made(try await keys(["add", "early", "--role", "push", "--json"], data: data))
        let serve = try await RunningServe(file)
        let key = try made(try await keys(["add", "orders", "--role", "push", "--app", "shop", "--json"], data: data))
        try await serve.line("API key created", key.key.keyID)
        let unknown = try await keys(["add", "bank", "--role", "push", "--app", "bank"], data: data)
        #expect(unknown.status == 65 && unknown.errors.contains("there is no app \"bank\""), "\(unknown.errors)")
        let list = try await keys(["list"], data: data)
        #expect(list.output.contains(early.key.keyID) && list.output.contains(key.key.keyID))
        let log = try await serve.stop()
        #expect(!log.output.contains(key.secret) && !log.output.contains(early.secret))
        let stopped = try await keys(["list", "--json"], data: data)
        let listed = try stopped.output.split(separator: "\n").map {
            try JSONDecoder().decode(KeyAnswer.self, from: Data($0.utf8))
        }
        #expect(listed.map(\.name) == ["early", "orders"])
    }
}
