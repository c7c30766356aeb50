import Glibc
import PushConfiguration
import TestSupport
import Testing

@testable import PushServer

@Suite struct NodeKeysTests {
    @Test func `The first start makes the keys, readable by their owner only, and later ones keep them`() throws {
        let directory = try TemporaryDirectory()
        let made = try NodeKeys.open(in: directory.path)
        var status = stat()
        #expect(stat("\(directory.path)/\(NodeKeys.fileName)", &status) == 0 && status.st_mode & 0o777 == 0o600)
        let again = try NodeKeys.open(in: directory.path)
        #expect(made.publicKey == again.publicKey && made.publicKey.z85.count == 40)
        let elsewhere = try TemporaryDirectory()
        let other = try NodeKeys.open(in: elsewhere.path)
        #expect(other.publicKey != made.publicKey)
    }

    @Test func `A damaged file is refused, and not replaced`() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(NodeKeys.fileName, containing: "public-key = \"short\"\n")
        do {
            _ = try NodeKeys.open(in: directory.path)
            Issue.record("the file was accepted")
        } catch {
            #expect(error.description.contains(path), "\(error)")
        }
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_size == 21)
    }

    @Test func `A directory without room or right for the file is an error that names it`() throws {
        do {
            _ = try NodeKeys.open(in: "/nowhere")
            Issue.record("the keys were made")
        } catch {
            #expect(error.code == .notPermitted && error.description.contains("/nowhere/node.key"), "\(error)")
        }
    }
}
