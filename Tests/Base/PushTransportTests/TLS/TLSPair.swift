import PushTransport
import TestSupport
import Testing

/// A client engine and a server engine that are connected in memory.
struct TLSPair {
    let client: TLSEngine
    let server: TLSEngine
    var clientReceived: [UInt8] = []
    var serverReceived: [UInt8] = []
    /// The number of bytes that are transferred at a time, or all if nil.
    var pieceSize: (() -> Int)?

    init(
        client: TLSClientConfiguration? = nil, server: TLSServerConfiguration? = nil, serverName: String = "localhost"
    ) throws {
        let certificates = TestCertificates.shared
        try self.init(
            client: TLSContext.client(client ?? TLSClientConfiguration(trust: certificates.trust)),
            server: TLSContext.server(server ?? TLSServerConfiguration(identity: certificates.serverIdentity)),
            serverName: serverName)
    }

    init(client: TLSContext, server: TLSContext, serverName: String = "localhost") throws {
        self.client = try TLSEngine(context: client, role: .client(serverName: serverName))
        self.server = try TLSEngine(context: server, role: .server)
    }

    /// Starts the client and transfers bytes until neither side has more to send.
    mutating func connect() throws {
        try client.start()
        try run()
    }

    mutating func run() throws {
        while !client.output.isEmpty || !server.output.isEmpty {
            try carryToServer()
            try carryToClient()
        }
    }

    /// Connects and expects a failure on one or both sides. The output of a failed side is transferred as well.
    mutating func connectExpectingFailure() throws -> (client: TLSError?, server: TLSError?) {
        var errors: (client: TLSError?, server: TLSError?)
        try client.start()
        while !client.output.isEmpty || !server.output.isEmpty {
            do { try carryToServer() } catch let error as TLSError { errors.server = errors.server ?? error }
            do { try carryToClient() } catch let error as TLSError { errors.client = errors.client ?? error }
        }
        #expect(errors.client != nil || errors.server != nil)
        #expect((client.state == .failed) == (errors.client != nil))
        #expect((server.state == .failed) == (errors.server != nil))
        return errors
    }

    mutating func carryToServer() throws {
        try carry(client.takeOutput(), to: server, into: &serverReceived)
    }

    mutating func carryToClient() throws {
        try carry(server.takeOutput(), to: client, into: &clientReceived)
    }

    private func carry(_ bytes: [UInt8], to engine: TLSEngine, into received: inout [UInt8]) throws {
        var position = 0
        while position < bytes.count {
            let end = min(bytes.count, position + max(1, pieceSize?() ?? bytes.count))
            try engine.feed(Array(bytes[position..<end]), into: &received)
            position = end
        }
    }
}

extension TLSEngine {
    func takeOutput() -> [UInt8] {
        let bytes = output.withBytes { Array($0) }
        output.removeAll()
        return bytes
    }

    func feed(_ bytes: [UInt8], into received: inout [UInt8]) throws {
        var pieces: [UInt8] = []
        defer { received += pieces }
        try bytes.withUnsafeBytes { bytes in
            try receive(bytes) { pieces.append(contentsOf: $0) }
        }
    }

    /// Feeds bytes that must not contain plaintext.
    func feed(_ bytes: [UInt8]) throws {
        var received: [UInt8] = []
        try feed(bytes, into: &received)
        #expect(received.isEmpty)
    }

    func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { bytes in try write(bytes) }
    }
}

/// Returns the error that `body` throws, or nil if it throws none.
func tlsError(_ body: () throws -> Void) -> TLSError? {
    do {
        try body()
        return nil
    } catch {
        return error as? TLSError
    }
}
