import FoundationEssentials
import Glibc
import PushModel
import PushStore
import PushTime
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

/// Tests of what the files of API keys reveal, and of their loss and damage.
@Suite(.waits) struct KeyFilesTests {
    private func contents(_ directory: TemporaryDirectory, _ names: [String]) throws -> [UInt8] {
        var all: [UInt8] = []
        for name in names { all += try Data(contentsOf: URL(filePath: "\(directory.path)/\(name)")) }
        return all
    }

    @Test func `No file contains a secret, and each is private`() async throws {
        try await withGuard { scene in
            let keys = [try await scene.add(), try await scene.add("p", roles: [.observe]) { $0.allowsBearer = true }]
            let names = try FileManager.default.contentsOfDirectory(atPath: scene.directory.path)
            #expect(names.contains("api.key") && names.contains("registry.db"))
            let all = try contents(scene.directory, names)
            for key in keys {
                #expect(all.firstRange(of: key.secret) == nil)
                #expect(all.firstRange(of: Array(Base64URL.encode(key.secret).utf8)) == nil)
                #expect(all.firstRange(of: Array(key.id.utf8)) != nil)
            }
            for name in names {
                var status = stat()
                #expect(stat("\(scene.directory.path)/\(name)", &status) == 0 && status.st_mode & 0o077 == 0, "\(name)")
            }
        }
    }

    @Test func `Without api.key no key is made, and bearer secrets still work`() async throws {
        let first = try await GuardScene(isTLS: true)
        let signing = try await first.add()
        let bearer = try await first.add("prometheus", roles: [.observe]) { $0.allowsBearer = true }
        await first.close()
        let path = "\(first.directory.path)/api.key"
        rename(path, path + ".away")
        let second = try await GuardScene(isTLS: true, at: first.directory)
        #expect(await second.outcome(try SignedRequest().signed(by: signing)) == "unauthenticated unreadable_key")
        #expect(await second.outcome(try SignedRequest().bearing(bearer.bearer)) == "prometheus")
        await #expect { _ = try await second.add("new") } throws: { error in
            "\(error)".contains("api.key is missing") && "\(error)".contains("orders, prometheus")
        }
        // Restored, it is used again by the next change, without a restart.
        rename(path + ".away", path)
        _ = try await second.add("new")
        await second.close()
        let third = try await GuardScene(at: first.directory)
        #expect(await third.outcome(try SignedRequest().signed(by: signing)) == "orders")
        await third.close()
    }

    @Test func `A registry of an earlier version, without a table of keys, gets one`() async throws {
        let first = try await GuardScene()
        _ = try await first.add()
        await first.close()
        let script = "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute('DROP TABLE api_key_rows')"
        let dropped = try await ChildProcess.run(
            "/usr/bin/python3", ["-c", script, "\(first.directory.path)/registry.db"])
        #expect(dropped.status == 0, "\(dropped.errors)")
        let second = try await GuardScene(at: first.directory)
        #expect(second.registrar.keys.isEmpty)
        let key = try await second.add()
        #expect(await second.outcome(try SignedRequest().signed(by: key)) == "orders")
        await second.close()
    }

    @Test func `After all keys are revoked, a lost api.key is replaced`() async throws {
        let first = try await GuardScene()
        _ = try await first.add()
        await first.close()
        unlink("\(first.directory.path)/api.key")
        let second = try await GuardScene(at: first.directory)
        _ = try await second.registrar.revoke(try #require(APIKeyName("orders")))
        let key = try await second.add()
        #expect(await second.outcome(try SignedRequest().signed(by: key)) == "orders")
        await second.close()
    }

    @Test(arguments: [
        "", "x\n", "AAAA\n", String(repeating: "A", count: 43), String(repeating: "A", count: 300) + "\n",
    ])
    func `A damaged api.key is reported and not replaced`(_ text: String) async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("api.key", containing: text)
        chmod(path, 0o600)
        let scene = try await GuardScene(at: directory)
        await #expect { _ = try await scene.add() } throws: { "\($0)".contains("restore it from a backup") }
        #expect(try contents(directory, ["api.key"]) == Array(text.utf8))
        await scene.close()
    }

    @Test func `An api.key that others may read is refused`() async throws {
        let directory = try TemporaryDirectory()
        chmod(try directory.write("api.key", containing: String(repeating: "A", count: 43) + "\n"), 0o644)
        let scene = try await GuardScene(at: directory)
        await #expect { _ = try await scene.add() } throws: { "\($0)".contains("chmod 600") }
        await scene.close()
    }

    @Test func `A sealed secret opens only with its key and its context, and unchanged`() throws {
        let sealing = SealingKey.generate()
        let secret = SecureRandom.bytes(32)
        let sealed = sealing.seal(secret, for: "a")
        #expect(try sealing.open(sealed, for: "a") == secret)
        #expect(sealing.seal(secret, for: "a") != sealed)
        #expect(throws: SealingKey.OpenError.damaged) { try sealing.open(sealed, for: "b") }
        #expect(throws: SealingKey.OpenError.otherKey) { try SealingKey.generate().open(sealed, for: "a") }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: SealingKey.OpenError.self) { try sealing.open(changed, for: "a") }
        }
        for length in 0..<sealed.count {
            #expect(throws: SealingKey.OpenError.self) { try sealing.open(Array(sealed.prefix(length)), for: "a") }
        }
        #expect("\(sealing)" == "<secret>")
    }

    @Test func `A name belongs to one valid key, and unknown names are reported`() async throws {
        try await withGuard { scene in
            let name = try #require(APIKeyName("orders"))
            await #expect(throws: KeyBookFault.unknownName(name)) { _ = try await scene.registrar.revoke(name) }
            await #expect(throws: KeyBookFault.unknownName(name)) {
                _ = try await scene.registrar.rotate(name, overlap: .zero)
            }
            _ = try await scene.add()
            await #expect(throws: KeyBookFault.nameTaken(name)) { _ = try await scene.add() }
        }
    }

    @Test func `Ended keys are forgotten after 90 days`() async throws {
        try await withGuard { scene in
            let name = try #require(APIKeyName("orders"))
            _ = try await scene.add()
            _ = try await scene.registrar.revoke(name)
            scene.wait(RegistryKeys.keepsEnded - .seconds(1))
            _ = try await scene.add("second")
            #expect(scene.registrar.keys.count == 2)
            scene.wait(.seconds(2))
            _ = try await scene.add("third")
            #expect(scene.registrar.keys.map(\.name.text) == ["second", "third"])
        }
    }

    @Test func `Concurrent changes leave one valid key of each name`() async throws {
        try await withGuard { scene in
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let name = APIKeyName("key\(number % 4)")!
                        var draft = KeyDraft(name: name, roles: RoleSet([.push]))
                        draft.rate = number + 1
                        _ = try? await scene.registrar.add(draft)
                        if number % 3 == 0 { _ = try? await scene.registrar.rotate(name, overlap: .zero) }
                    }
                }
            }
            let before = scene.registrar.keys
            for number in 0..<4 {
                let valid = before.filter { $0.name.text == "key\(number)" && $0.isValid(at: scene.now.wall) }
                #expect(valid.count == 1)
            }
            let again = try await GuardScene(at: scene.directory)
            #expect(again.registrar.keys == before)
            await again.close()
        }
    }
}
