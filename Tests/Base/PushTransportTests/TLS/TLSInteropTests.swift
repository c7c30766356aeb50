import Foundation
import Glibc
import PushTransport
import TestSupport
import Testing

private let opensslTool = ["/usr/bin/openssl", "/bin/openssl"].first {
    FileManager.default.isExecutableFile(atPath: $0)
}

/// Tests against OpenSSL's own client and server, over real sockets.
@Suite(.enabled(if: opensslTool != nil, "the openssl tool is not installed"))
struct TLSInteropTests {
    private let certificates = TestCertificates.shared

    @Test("The openssl client connects to our server", arguments: [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")])
    func opensslConnectsToUs(_ flag: String, _ version: String) throws {
        let files = try TemporaryFiles()
        let root = try files.write("root.pem", certificates.authority.certificatePEM)
        let client = try files.write(
            "client.pem", certificates.client.certificatePEM + certificates.client.privateKeyPEM)
        let listener = try TestSocket.listening()
        let tool = try OpenSSLProcess([
            "s_client", "-connect", "127.0.0.1:\(listener.port)", "-servername", "localhost", "-verify_hostname",
            "localhost", "-verify_return_error", "-CAfile", root, "-cert", client, "-alpn", "h2,http/1.1", "-brief",
            "-ign_eof", flag,
        ])
        let context = try TLSContext.server(
            TLSServerConfiguration(
                identity: certificates.serverIdentity, alpn: ["h2"],
                clientCertificates: .required(certificates.trust)))
        let connection = try TestConnection(
            listener.accepted(), TLSEngine(context: context, role: .server))
        try tool.send("ding dong\n")
        try connection.run { $0.received == Array("ding dong\n".utf8) }
        let session = try #require(connection.engine.session)
        #expect(session.protocolVersion == version)
        #expect(session.alpn == "h2")
        #expect(session.peerCertificate?.userID == "com.example.app")
        try connection.engine.write(Array("heard\n".utf8))
        connection.engine.close()
        try connection.flush()
        let output = tool.outputToTheEnd()
        #expect(output.contains("heard\n"))
        #expect(output.contains("Protocol version: \(version)"))
        #expect(output.contains("Verification: OK"))
    }

    @Test("A client cannot renegotiate") func aClientMayNotRenegotiate() throws {
        let files = try TemporaryFiles()
        let root = try files.write("root.pem", certificates.authority.certificatePEM)
        let listener = try TestSocket.listening()
        let tool = try OpenSSLProcess([
            "s_client", "-connect", "127.0.0.1:\(listener.port)", "-CAfile", root, "-tls1_2",
        ])
        let context = try TLSContext.server(TLSServerConfiguration(identity: certificates.serverIdentity))
        let connection = try TestConnection(listener.accepted(), TLSEngine(context: context, role: .server))
        try connection.run { $0.engine.state == .established }
        let session = try #require(connection.engine.session)
        // A line with only this letter makes s_client request a new handshake.
        try tool.send("R\n")
        #expect(throws: (any Error).self) { try connection.run { _ in false } }
        connection.hangUp()
        #expect(connection.received.isEmpty)
        #expect(connection.engine.session?.cipher == session.cipher)
        #expect(tool.outputToTheEnd().contains("no renegotiation"))
    }

    @Test("Our client connects to the openssl server", arguments: [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")])
    func weConnectToOpenSSL(_ flag: String, _ version: String) throws {
        let files = try TemporaryFiles()
        let identity = try files.write(
            "server.pem", certificates.server.certificatePEM + certificates.server.privateKeyPEM)
        let root = try files.write("root.pem", certificates.authority.certificatePEM)
        let tool = try OpenSSLProcess([
            "s_server", "-accept", "127.0.0.1:0", "-cert", identity, "-key", identity, "-CAfile", root, "-Verify", "1",
            "-verify_return_error", "-alpn", "h2", "-rev", "-naccept", "3", flag,
        ])
        let port = try tool.announcedPort()
        let context = try TLSContext.client(
            TLSClientConfiguration(
                trust: certificates.trust, identity: certificates.clientIdentity, alpn: ["h2"]))
        for turn in 0..<3 {
            let connection = try TestConnection(
                .connected(to: port), TLSEngine(context: context, role: .client(serverName: "localhost")))
            try connection.engine.start()
            try connection.run { $0.engine.state == .established }
            try connection.engine.write(Array("gnod gnid\n".utf8))
            try connection.run { $0.received.count >= 10 }
            #expect(connection.received == Array("ding dong\n".utf8))
            let session = try #require(connection.engine.session)
            #expect(session.protocolVersion == version)
            #expect(session.alpn == "h2")
            #expect(session.isResumed == (turn > 0))
            connection.engine.close()
            try connection.flush()
        }
        _ = tool.outputToTheEnd()
    }
}

private struct UnexpectedEnd: Error {
    let what: String
}

/// A temporary directory that is removed with the object.
private final class TemporaryFiles {
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("carillon-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    func write(_ name: String, _ text: String) throws -> String {
        let path = directory.appendingPathComponent(name).path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}

/// The openssl tool with pipes to it. (Foundation's `Process` leaks a little memory, which a leak check would report.)
private final class OpenSSLProcess {
    private var process: pid_t = 0
    private let input: FileHandle
    private let output: FileHandle
    private var hasEnded = false

    init(_ arguments: [String]) throws {
        let toTool = Pipe()
        let fromTool = Pipe()
        // Otherwise a child process of another test would keep these ends open.
        for pipe in [toTool, fromTool] {
            for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
                _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
            }
        }
        input = toTool.fileHandleForWriting
        output = fromTool.fileHandleForReading
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toTool.fileHandleForReading.fileDescriptor, 0)
        posix_spawn_file_actions_adddup2(&actions, fromTool.fileHandleForWriting.fileDescriptor, 1)
        posix_spawn_file_actions_adddup2(&actions, fromTool.fileHandleForWriting.fileDescriptor, 2)
        let tool = opensslTool ?? ""
        var words = ([tool] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        let result = posix_spawn(&process, tool, &actions, nil, &words, environ)
        guard result == 0 else { throw UnexpectedEnd(what: "openssl did not start: \(result)") }
        try toTool.fileHandleForReading.close()
        try fromTool.fileHandleForWriting.close()
    }

    deinit {
        if !hasEnded {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
    }

    func send(_ text: String) throws {
        try input.write(contentsOf: Data(text.utf8))
    }

    /// Returns the port of the line `ACCEPT 127.0.0.1:port`.
    func announcedPort() throws -> UInt16 {
        var text = ""
        while true {
            let data = output.availableData
            if data.isEmpty { throw UnexpectedEnd(what: text) }
            text += String(decoding: data, as: UTF8.self)
            let lines = text.split(separator: "\n").dropLast(text.hasSuffix("\n") ? 0 : 1)
            for line in lines where line.hasPrefix("ACCEPT ") {
                if let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) { return port }
            }
        }
    }

    func outputToTheEnd() -> String {
        let data = output.readDataToEndOfFile()
        waitpid(process, nil, 0)
        hasEnded = true
        return String(decoding: data, as: UTF8.self)
    }
}

/// A blocking socket on 127.0.0.1. A read fails when its ``Patience`` is exhausted.
private final class TestSocket {
    let descriptor: CInt

    private init(_ descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    static func listening() throws -> TestSocket {
        let socket = TestSocket(Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        var address = Self.loopback(port: 0)
        let result = Self.with(&address) { bind(socket.descriptor, $0, $1) }
        guard result == 0, listen(socket.descriptor, 1) == 0 else { throw UnexpectedEnd(what: "listen") }
        Patience.prepare(socket.descriptor)
        return socket
    }

    static func connected(to port: UInt16) throws -> TestSocket {
        let socket = TestSocket(Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
        var address = Self.loopback(port: port)
        let result = Self.with(&address) { connect(socket.descriptor, $0, $1) }
        guard result == 0 else { throw UnexpectedEnd(what: "connect") }
        Patience.prepare(socket.descriptor)
        return socket
    }

    func accepted() throws -> TestSocket {
        let accepted = CInt(Patience.persist { Int(accept(descriptor, nil, nil)) })
        guard accepted >= 0 else { throw UnexpectedEnd(what: "accept") }
        Patience.prepare(accepted)
        return TestSocket(accepted)
    }

    var port: UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = Self.with(&address) { pointer, _ in
            getsockname(descriptor, UnsafeMutablePointer(mutating: pointer), &length)
        }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func with(
        _ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// An engine on a blocking socket.
private final class TestConnection {
    let engine: TLSEngine
    private(set) var received: [UInt8] = []
    private let socket: TestSocket

    init(_ socket: TestSocket, _ engine: TLSEngine) {
        self.socket = socket
        self.engine = engine
    }

    func hangUp() {
        shutdown(socket.descriptor, CInt(SHUT_RDWR))
    }

    func flush() throws {
        let bytes = engine.takeOutput()
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(socket.descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw UnexpectedEnd(what: "send") }
            sent += count
        }
    }

    /// Sends and receives until `isDone` returns true.
    func run(until isDone: (TestConnection) -> Bool) throws {
        try flush()
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while !isDone(self) {
            let count = Patience.persist { recv(socket.descriptor, &buffer, buffer.count, 0) }
            guard count > 0 else { throw UnexpectedEnd(what: count == 0 ? "the peer closed" : "the peer sent nothing") }
            try engine.feed(Array(buffer[..<count]), into: &received)
            try flush()
        }
    }
}
