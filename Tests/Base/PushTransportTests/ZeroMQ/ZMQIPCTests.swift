import Glibc
import TestSupport
import TestTraits
import Testing

@testable import PushTransport

/// Files of `ipc://` endpoints: their permissions, and what is in the way of them.
@Suite(.waits) struct ZMQIPCTests {
    private func mode(of path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test(arguments: [0o600, 0o660] as [mode_t])
    func `the file has the permissions that were asked for`(asked: mode_t) async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/socket"
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull) { $0.ipcMode = asked }
            #expect(try await pull.bind("ipc://\(path)") == "ipc://\(path)")
            #expect(mode(of: path) == asked)
            let push = try await world.peer(.push, on: world.second)
            try await push.connect("ipc://\(path)")
            #expect(try await push.sendPatiently([[1]]) == .sent)
            #expect(await pull.receive()?.frames == [[1]])
        }
    }

    /// libzmq's thread would wait for a connection that has gone before it was accepted.
    @Test func `the listener does not block`() throws {
        let directory = try TemporaryDirectory()
        let descriptor = try IPCListener.listen(at: "\(directory.path)/socket", mode: 0o600, backlog: 1)
        defer { close(descriptor) }
        #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0 && fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(accept(descriptor, nil, nil) < 0 && errno == EAGAIN)
    }

    @Test func `a file in the way that is no socket stays as it is`() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("precious", containing: "text")
        let link = "\(directory.path)/link"
        #expect(symlink(path, link) == 0)
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            for place in [path, link, directory.path] {
                await #expect { try await pull.bind("ipc://\(place)") } throws: { "\($0)".contains("is not a socket") }
            }
        }
        #expect(try BoundedFile.read(path, limit: 100) == Array("text".utf8))
        var status = stat()
        #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    }

    @Test func `a socket that nobody listens on any more is replaced`() async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/socket"
        for _ in 0..<2 {
            try await ZMQWorld.run { world in
                let pull = try await world.peer(.pull)
                try await pull.bind("ipc://\(path)")
                let push = try await world.peer(.push, on: world.second)
                try await push.connect("ipc://\(path)")
                #expect(try await push.sendPatiently([[1]]) == .sent)
                #expect(await pull.receive()?.frames == [[1]])
            }
            // It stays behind, as after a kill.
            #expect(mode(of: path) == 0o600)
        }
    }

    @Test func `a path that is too long is refused with its limit`() async throws {
        try await ZMQWorld.run { world in
            let pull = try await world.peer(.pull)
            let path = "/tmp/" + String(repeating: "x", count: 200)
            await #expect { try await pull.bind("ipc://\(path)") } throws: { "\($0)".contains("at most 107 bytes") }
        }
    }
}
