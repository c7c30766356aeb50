import FoundationEssentials
import Glibc
import PushLoop
import PushTransport

/// The requirements of `serve`, besides the rules of the configuration itself: the data directory, the files of
/// CURVE and TLS, and the places to bind.
///
/// This is the one list of what is examined. `check` reports all of it, and `serve` examines it before it opens anything,
/// so that both find the same faults in the same words with the same exit code. Blocks.
struct StartCheck: Sendable {
    private let configuration: Configuration
    /// A Carillon that runs on the data directory holds its own places.
    private let isRunning: Bool

    /// - Parameter isRunning: whether places that are taken may be those of a Carillon that runs there already.
    init(_ configuration: Configuration, isRunning: Bool = false) {
        self.configuration = configuration
        self.isRunning = isRunning
    }

    /// For `check`, which may look at the configuration of a Carillon that runs.
    static func faults(of configuration: Configuration) -> [Failure] {
        let check = StartCheck(configuration, isRunning: UnixSocket.answers(controlPath(of: configuration)))
        return [check.directoryFault].compactMap { $0 } + check.faults
    }

    private static func controlPath(of configuration: Configuration) -> String {
        "\(configuration.data)/\(ControlServer.fileName)"
    }

    /// A sentence about each file with a secret that more users may read or change than should.
    var cautions: [String] {
        let tls = configuration.http.tls.map { tls in
            [tls.key ?? tls.certificate] + (tls.passwordFile.map { [$0] } ?? [])
        }
        return SecretFile.cautions((configuration.security.curve.map { [$0.secretKeyFile] } ?? []) + (tls ?? []))
    }

    /// All in one, with the exit code of the gravest.
    static func failure(of faults: [Failure]) -> Failure? {
        guard let gravest = ExitCode.gravest(faults.map(\.code)) else { return nil }
        return Failure(gravest, faults.map(\.description).joined(separator: "\n"))
    }

    /// The reason why ledger and registry cannot be kept there, or nil. Creates nothing.
    var directoryFault: Failure? {
        var path = configuration.data
        let name = "the data directory \(path)"
        while true {
            var status = stat()
            if stat(path, &status) == 0 {
                guard status.st_mode & S_IFMT == S_IFDIR else {
                    return Failure(
                        .notPermitted,
                        "cannot use \(name): \(path) is not a directory; move it away, or name another directory with "
                            + "data in the configuration or --data")
                }
                guard access(path, W_OK | X_OK) == 0 else { return cannotUse(name, at: path) }
                return path == configuration.data ? DataLock.fault(of: path) : nil
            }
            guard errno == ENOENT || errno == ENOTDIR, let parent = Self.parent(of: path), parent != path else {
                return cannotUse(name, at: path)
            }
            path = parent
        }
    }

    private func cannotUse(_ name: String, at path: String) -> Failure {
        Failure(
            .notPermitted,
            "cannot use \(name): \(SystemError.current) at \(path); be a user that may write there, or name another "
                + "directory with data in the configuration or --data")
    }

    private static func parent(of path: String) -> String? {
        var path = path[...]
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return path == "." || path == ".." ? nil : "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Everything else.
    var faults: [Failure] {
        var faults: [Failure] = []
        let control = Self.controlPath(of: configuration)
        if control.utf8.count > SocketAddress.longestUnixPath {
            faults.append(
                Failure(
                    .failed,
                    "cannot open the control socket \(control): a path to a socket has at most \(SocketAddress.longestUnixPath) "
                        + "bytes; choose a data directory with a shorter path"))
        }
        do {
            _ = try PipelineSecurity(configuration.security)
        } catch {
            faults.append(
                Failure(
                    error.code,
                    "\(error.description); 'carillon keys curve FILE' makes one, and without security.curve the sockets "
                        + "stay on this machine"))
        }
        if configuration.http.listen != nil, let tls = configuration.http.tls {
            do {
                _ = try HTTPPort.context(tls)
            } catch {
                faults.append(
                    Failure(
                        .configuration,
                        "http.tls cannot be used: \(error); correct it, or leave http.tls out on a loopback address"))
            }
        }
        let binds = [
            ("intake.router", configuration.intake.router), ("intake.pull", configuration.intake.pull),
            ("events.publish", configuration.events.publish), ("events.replay", configuration.events.replay),
        ]
        for (name, bind) in binds {
            switch bind {
            case .tcp(let place): faults += fault(name, place).map { [$0] } ?? []
            case .ipc(let path): faults += fault(name, ipc: path).map { [$0] } ?? []
            case .off: break
            }
        }
        if let listen = configuration.http.listen, let fault = fault("http.listen", listen) { faults.append(fault) }
        return faults
    }

    private func fault(_ name: String, _ place: HostPort) -> Failure? {
        guard let error = PortProbe.error(place), !(isRunning && error.number == EADDRINUSE) else { return nil }
        let advice =
            switch error.number {
            case EADDRINUSE: "; another process listens there: stop it, or choose another port"
            case EADDRNOTAVAIL: "; this machine has no such address"
            case EACCES: "; ports below 1024 need a right: choose another port"
            default: ""
            }
        return Failure(.unavailable, "cannot open \(name) \(place): \(error)\(advice)")
    }

    private func fault(_ name: String, ipc path: String) -> Failure? {
        if let error = IPCListener.fault(at: path, mayBeInUse: isRunning) {
            return Failure(.unavailable, "cannot open \(name): \(error)")
        }
        guard let directory = Self.parent(of: path), access(directory, W_OK | X_OK) != 0 else { return nil }
        let error = SystemError.current
        // The data directory is made before the sockets are.
        if error.number == ENOENT, Self.isSame(directory, configuration.data) { return nil }
        return Failure(
            .unavailable,
            "cannot open \(name) ipc://\(path): \(error) at \(directory); make that directory, writable for this user")
    }

    private static func isSame(_ first: String, _ second: String) -> Bool {
        func parts(_ path: String) -> [Substring] {
            let whole = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
            return whole.split(separator: "/").filter { $0 != "." }
        }
        return parts(first) == parts(second)
    }
}

extension ExitCode {
    /// The gravest of several: faults that a person has to correct go first. Nil if there are none.
    static func gravest(_ codes: [ExitCode]) -> ExitCode? {
        let codes = Set(codes)
        return [.configuration, .notPermitted, .unavailable, .tryAgain].first { codes.contains($0) }
            ?? codes.first { $0 != .done }
    }
}

/// Whether a TCP port can be bound: bound for a moment, never listening.
private enum PortProbe {
    /// Nil if it can.
    static func error(_ place: HostPort) -> SystemError? {
        let host = place.host == "localhost" ? "127.0.0.1" : place.host == "*" ? "0.0.0.0" : place.host
        guard let address = SocketAddress(ip: host, port: place.port) else { return SystemError(number: EINVAL) }
        let descriptor = socket(address.family, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return .current }
        defer { close(descriptor) }
        var one: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
        if address.family == AF_INET6 {
            setsockopt(descriptor, CInt(IPPROTO_IPV6), IPV6_V6ONLY, &one, socklen_t(MemoryLayout<CInt>.size))
        }
        return address.withSockaddr { bind(descriptor, $0, $1) } == 0 ? nil : .current
    }
}

private enum UnixSocket {
    /// Whether somebody listens there.
    static func answers(_ path: String) -> Bool {
        guard let address = SocketAddress(unixPath: path) else { return false }
        let descriptor = socket(
            AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let result = address.withSockaddr { connect(descriptor, $0, $1) }
        // A full queue of connections is somebody's too.
        return result == 0 || errno == EAGAIN
    }
}
