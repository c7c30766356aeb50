import Glibc
import PushAPI
import PushLoop
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import carillon

@Suite(.waits) struct ControlClientTests {
    @Test func `A data directory without a running Carillon is reported`() async throws {
        let directory = try TemporaryDirectory()
        for data in [directory.path, "\(directory.path)/none", try directory.write("file", containing: "")] {
            let failure = await #expect(throws: Failure.self) {
                _ = try await ControlClient(dataDirectory: data).send("GET", to: "/v1/gateways")
            }
            #expect(failure?.code == .unavailable)
            #expect(failure?.description.contains("no Carillon is running on the data directory \(data)") == true)
        }
    }

    @Test func `A request without a response times out`() async throws {
        let silent = try SilentSocket()
        let client = ControlClient(dataDirectory: silent.directory.path, deadline: .milliseconds(50))
        let failure = await #expect(throws: Failure.self) { _ = try await client.send("GET", to: "/v1/gateways") }
        #expect(failure?.code == .tryAgain)
        #expect(failure?.description.hasSuffix("did not answer within 50ms") == true)
        let change = await #expect(throws: Failure.self) { _ = try await client.send("POST", to: "/v1/reload") }
        #expect(
            change?.description.hasSuffix("did not answer within 50ms; the request may still be carried out") == true)
        // The kernel queues one connection more than the backlog; after that, connecting itself blocks.
        var waiting: [RawClient] = []
        while waiting.count < 8, let next = silent.connectWithoutWaiting() { waiting.append(next) }
        let full = await #expect(throws: Failure.self) { _ = try await client.send("GET", to: "/v1/gateways") }
        #expect(full?.code == .tryAgain)
    }

    @Test(.enabled(if: getuid() == 0, "needs another user"))
    func `Another user is not permitted to connect`() async throws {
        try await withControl { control in
            // The mode of the directory and the mode of the socket both prevent access.
            chmod(control.directory.path, 0o755)
            chmod(control.data, 0o755)
            let ended = try await ChildProcess.run(
                "setpriv",
                [
                    "--reuid", "65534", "--regid", "65534", "--clear-groups", ChildProcess.carillon, "scale", "--data",
                    control.data,
                ])
            // The status is 126 if the other user cannot execute the program.
            #expect(ended.status == 77 || ended.status == 126, "\(ended)")
        }
    }
}

/// A socket that listens and never accepts a connection.
final class SilentSocket {
    let directory: TemporaryDirectory
    private let descriptor: CInt
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = "\(directory.path)/\(ControlSocket.fileName)"
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, listen(descriptor, 1) == 0 else {
            throw ChildProcess.NotStarted(description: "no socket: \(SystemError.current)")
        }
    }

    deinit {
        close(descriptor)
    }

    /// Connects without waiting; returns nil once the queue is full.
    func connectWithoutWaiting() -> RawClient? {
        RawClient(unixSocketAtOnce: path)
    }
}
