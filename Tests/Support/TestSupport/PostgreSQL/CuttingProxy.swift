import Glibc
import PushLoop

/// A TCP proxy on the loopback address that can hold the bytes of one direction, spoil them, and cut all connections.
/// Its threads block; they end with the connections.
package final class CuttingProxy: Sendable {
    package enum Direction: Sendable {
        case requests, answers
    }

    /// A number of bytes that arrived while their direction was held.
    package struct Held: Sendable {
        package let direction: Direction
        package let bytes: Int
    }

    private struct State {
        var held: Set<Direction> = []
        var spoiled: Set<Direction> = []
        /// What a request must contain to mark its connection.
        var mark: [UInt8] = []
        var heldIfMarked: Set<Direction> = []
        var marked: Set<ObjectIdentifier> = []
        var connections: [Connection] = []
        var passed: [Direction: Int] = [:]

        func holds(_ direction: Direction, _ connection: Connection) -> Bool {
            held.contains(direction)
                || heldIfMarked.contains(direction) && marked.contains(ObjectIdentifier(connection))
        }
    }

    private final class Connection: Sendable {
        let client: CInt
        let server: CInt

        init(client: CInt, server: CInt) {
            self.client = client
            self.server = server
        }

        deinit {
            close(client)
            close(server)
        }

        func cut() {
            shutdown(client, CInt(SHUT_RDWR))
            shutdown(server, CInt(SHUT_RDWR))
        }
    }

    package let port: UInt16
    /// What the proxy holds back.
    package let held = EventRecorder<Held>()
    private let state = Monitor(State())
    private let listener: CInt
    private let serverPort: UInt16

    package init(to serverPort: UInt16) throws {
        self.serverPort = serverPort
        listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = Self.loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard isListening else { throw RawPeer.Failure(action: "listen", number: errno) }
        port = UInt16(bigEndian: address.sin_port)
        _ = NamedThread(named: "proxy") { [weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, let self else { break }
                self.serve(client)
            }
            Glibc.close(listener)
        }
    }

    deinit {
        cut()
        shutdown(listener, CInt(SHUT_RDWR))
    }

    /// Holds the bytes of a direction that arrive from now on.
    package func hold(_ direction: Direction) {
        state.withLock { _ = $0.held.insert(direction) }
    }

    /// Marks the connections on which a request contains the given text from now on. Only texts that arrive in one piece
    /// are found.
    package func mark(_ text: String) { state.withLock { $0.mark = Array(text.utf8) } }

    /// Holds the bytes of a direction that arrive on marked connections from now on.
    package func holdMarked(_ direction: Direction) {
        state.withLock { _ = $0.heldIfMarked.insert(direction) }
    }

    /// The number of bytes of a direction that were passed on.
    package func passed(_ direction: Direction) -> Int { state.withLock { $0.passed[direction] ?? 0 } }

    /// Passes the held bytes on, and all that follow.
    package func release(_ direction: Direction) {
        state.withLock { state in
            state.held.remove(direction)
            state.heldIfMarked.remove(direction)
        }
        state.wakeAll()
    }

    /// Replaces all bytes of a direction by others from now on.
    package func spoil(_ direction: Direction) {
        state.withLock { _ = $0.spoiled.insert(direction) }
    }

    /// Cuts all connections, and drops what is held. The directions are free afterward.
    package func cut() {
        let connections = state.withLock { state in
            defer { state = State() }
            return state.connections
        }
        for connection in connections { connection.cut() }
        state.wakeAll()
    }

    private func serve(_ client: CInt) {
        let server = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = Self.loopback(serverPort)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let connection = Connection(client: client, server: server)
        guard isConnected else { return }
        var on: CInt = 1
        for descriptor in [client, server] {
            setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        }
        state.withLock { $0.connections.append(connection) }
        for direction in [Direction.requests, .answers] {
            _ = NamedThread(named: "proxy") { [weak self] in
                Self.pump(connection, direction: direction) { [weak self] in self }
            }
        }
    }

    private static func pump(
        _ connection: Connection, direction: Direction, of proxy: () -> CuttingProxy?
    ) {
        let (source, target) =
            direction == .requests ? (connection.client, connection.server) : (connection.server, connection.client)
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(source, &bytes, bytes.count, 0)
            guard count > 0, let proxy = proxy() else { break }
            if direction == .requests { proxy.markIfWanted(connection, bytes[..<count]) }
            guard proxy.passes(count, direction, of: connection) else { break }
            if proxy.state.withLock({ $0.spoiled.contains(direction) }) {
                for index in 0..<count { bytes[index] = UInt8.random(in: 0...255) }
            }
            var sent = 0
            while sent < count {
                let step = bytes[sent..<count].withUnsafeBytes {
                    send(target, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
                }
                guard step > 0 else { break }
                sent += step
            }
            if sent < count { break }
        }
        connection.cut()
    }

    private func markIfWanted(_ connection: Connection, _ bytes: ArraySlice<UInt8>) {
        state.withLock { state in
            let mark = state.mark
            guard let first = mark.first, !state.marked.contains(ObjectIdentifier(connection)) else { return }
            var start = bytes.startIndex
            while let at = bytes[start...].firstIndex(of: first) {
                if bytes[at...].starts(with: mark) {
                    state.marked.insert(ObjectIdentifier(connection))
                    return
                }
                start = at + 1
            }
        }
    }

    /// Waits while the direction is held. Returns false if the connection was cut.
    private func passes(_ count: Int, _ direction: Direction, of connection: Connection) -> Bool {
        if state.withLock({ $0.holds(direction, connection) }) { held.record(Held(direction: direction, bytes: count)) }
        return state.wait { state -> Bool? in
            guard state.connections.contains(where: { $0 === connection }) else { return false }
            if state.holds(direction, connection) { return nil }
            state.passed[direction, default: 0] += count
            return true
        }
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
