import FoundationEssentials
import Glibc
import PushLoop
import PushTime

/// Asks a running Carillon over its control socket. Each request has a connection and a thread of its own while it
/// lasts, at most `deadline`.
struct ControlClient: Sendable {
    private static let pool = BlockingPool(name: "control", threadCount: 2, queueLimit: 64)

    let dataDirectory: String
    let deadline: Duration

    init(dataDirectory: String, deadline: Duration = .seconds(30)) {
        self.dataDirectory = dataDirectory
        self.deadline = deadline
    }

    var socketPath: String { "\(dataDirectory)/\(ControlServer.fileName)" }

    /// What was asked for, decoded.
    ///
    /// - Throws: `Failure`, also for what the server refuses.
    func ask<Value: Decodable>(
        _ method: String, _ path: String, body: [UInt8] = [], for type: Value.Type = Value.self
    ) async throws -> Value {
        let answer = try await send(method, path, body: body)
        guard answer.status == 200 else { throw Self.refusal(answer) }
        do {
            return try JSONDecoder().decode(Value.self, from: Data(answer.body))
        } catch {
            throw Failure(
                .failed,
                "the Carillon on \(dataDirectory) answers what this one does not understand; is it the same "
                    + "version? (\(error))")
        }
    }

    /// The answer as it came.
    func send(_ method: String, _ path: String, body: [UInt8] = []) async throws -> ControlAnswer {
        var request = Array("\(method) \(path) HTTP/1.1\r\nHost: carillon\r\nConnection: close\r\n".utf8)
        if method != "GET" {
            request += Array("Content-Type: application/json\r\nContent-Length: \(body.count)\r\n".utf8)
        }
        request += Array("\r\n".utf8) + body
        return try await Self.pool.run { [request] in
            let exchange = try ControlExchange(self, until: MonotonicTime.current() + deadline)
            try exchange.send(request)
            return try exchange.receive()
        }
    }

    /// What the server said against it.
    static func refusal(_ answer: ControlAnswer) -> Failure {
        let fault = try? JSONDecoder().decode(ControlAnswer.Refusal.self, from: Data(answer.body)).error
        let text = fault?.message ?? String(decoding: answer.body.prefix(500), as: UTF8.self)
        let code: ExitCode =
            switch answer.status {
            case 400, 404, 413, 422: .badInput
            case 401, 403: .notPermitted
            case 408, 409, 429: .tryAgain
            case 503: .unavailable
            default: .failed
            }
        return Failure(code, text.isEmpty ? "the answer was status \(answer.status)" : text)
    }
}

/// One connection to the control socket. Blocks, but not past its deadline.
private final class ControlExchange {
    private let descriptor: CInt
    private let client: ControlClient
    private let deadline: MonotonicTime

    init(_ client: ControlClient, until deadline: MonotonicTime) throws(Failure) {
        self.client = client
        self.deadline = deadline
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = client.socketPath
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < room, !path.utf8.contains(0) else {
            throw Failure(.configuration, "\(path) is too long for a socket's path: \(room - 1) bytes are allowed")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw Failure(.failed, "no socket: \(SystemError.current)") }
        self.descriptor = descriptor
        while true {
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            if result == 0 { return }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Its queue of connections is full, and nothing tells when it is not.
                guard remaining > 0 else { throw timedOut }
                poll(nil, 0, min(remaining, 10))
            default: throw unreachable(SystemError.current)
            }
        }
    }

    deinit {
        close(descriptor)
    }

    private var remaining: CInt {
        let left = (deadline - MonotonicTime.current()).components
        return CInt(clamping: max(0, left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000))
    }

    private var timedOut: Failure {
        Failure(
            .tryAgain,
            "the Carillon on \(client.dataDirectory) did not answer within \(DurationText.write(client.deadline))")
    }

    private func unreachable(_ error: SystemError) -> Failure {
        let path = client.socketPath
        switch error.number {
        case ENOENT, ECONNREFUSED, ENOTDIR, ENOTSOCK:
            return Failure(
                .unavailable,
                "no Carillon is running on the data directory \(client.dataDirectory); start it with 'carillon serve', "
                    + "or name another directory with --data or --config")
        case EACCES, EPERM:
            return Failure(.notPermitted, "this user may not use \(path); be the user that Carillon runs as, or root")
        default: return Failure(.unavailable, "cannot connect to \(path): \(error)")
        }
    }

    private func wait(for events: CInt) throws(Failure) {
        while true {
            let left = remaining
            guard left > 0 else { throw timedOut }
            var watched = pollfd(fd: descriptor, events: Int16(events), revents: 0)
            if poll(&watched, 1, left) > 0 { return }
        }
    }

    func send(_ bytes: [UInt8]) throws(Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try wait(for: POLLOUT)
            } else if errno != EINTR {
                // It may have answered and closed without reading on.
                return
            }
        }
    }

    func receive() throws(Failure) -> ControlAnswer {
        var machine = ControlAnswerMachine()
        var piece = [UInt8](repeating: 0, count: 65_536)
        do {
            while true {
                let count = recv(descriptor, &piece, piece.count, 0)
                if count > 0 {
                    if let answer = try machine.received(piece[..<count]) { return answer }
                } else if count == 0 || errno == ECONNRESET {
                    return try machine.ended()
                } else if errno == EAGAIN {
                    try wait(for: POLLIN)
                } else if errno != EINTR {
                    throw Failure(.unavailable, "the connection to \(client.socketPath) broke: \(SystemError.current)")
                }
            }
        } catch let fault as ControlAnswerMachine.Fault {
            throw Failure(
                fault.isCutOff ? .unavailable : .failed,
                fault.isCutOff
                    ? "the Carillon on \(client.dataDirectory) ended the connection without an answer"
                    : "cannot parse the response on \(client.socketPath): \(fault)")
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.failed, "\(error)")
        }
    }
}
