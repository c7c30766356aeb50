import FoundationEssentials
import Glibc
import PushAPI
package import PushConfiguration
import PushLoop
import PushTransport

/// The checks before a start, besides the rules of the configuration itself: the data directory, the files of CURVE and
/// TLS, and the endpoints to bind.
///
/// `check` reports all of them, and `serve` runs them before it opens anything. Therefore both find the same faults,
/// with the same text and exit code. All methods block.
package struct StartCheck: Sendable {
    private let configuration: Configuration
    /// Whether Carillon runs on the data directory. Then endpoints that are in use are not a fault.
    private let isRunning: Bool
    private let contexts = TLSContexts()

    /// Creates the checks.
    ///
    /// - Parameter isRunning: whether endpoints that are in use may belong to a running Carillon with this
    ///   configuration.
    package init(_ configuration: Configuration, isRunning: Bool = false) {
        self.configuration = configuration
        self.isRunning = isRunning
    }

    /// Returns all faults, for `check`. Carillon may be running with this configuration.
    package static func faults(of configuration: Configuration) -> [StartError] {
        let check = StartCheck(
            configuration, isRunning: SocketProbe.isListening(unixPath: controlPath(of: configuration)))
        return [check.directoryFault].compactMap { $0 } + check.faults
    }

    /// The smallest limit of open files with which Carillon starts. With fewer, libzmq and the loops end the process.
    static let minDescriptors: UInt64 = 128
    /// The smallest limit of the address space, of which each thread needs a part for its stack.
    static let minAddressSpace: UInt64 = 1 << 30

    /// The limit of the address space of this process.
    static var addressSpace: UInt64 {
        var limit = rlimit()
        return getrlimit(CInt(RLIMIT_AS.rawValue), &limit) == 0 ? UInt64(limit.rlim_cur) : .max
    }

    /// The reason why the limits of this process do not suffice, or nil.
    static func limitFault(descriptors: UInt64, addressSpace: UInt64) -> StartError? {
        if descriptors < minDescriptors {
            return StartError(
                .failed,
                "the limit of open files is \(descriptors), and Carillon needs at least \(minDescriptors): raise it (ulimit "
                    + "-n, or LimitNOFILE of systemd)")
        }
        if addressSpace < minAddressSpace {
            return StartError(
                .failed,
                "the limit of the address space is \(addressSpace >> 20) MiB, and Carillon needs at least "
                    + "\(minAddressSpace >> 20): raise or remove it (ulimit -v, or LimitAS of systemd); to limit memory, "
                    + "use MemoryMax of systemd")
        }
        return nil
    }

    private static func controlPath(of configuration: Configuration) -> String {
        "\(configuration.data)/\(ControlSocket.fileName)"
    }

    /// A warning about each file with a secret that too many users may read or change.
    package var cautions: [String] {
        let tls = configuration.http.tls.map { tls in
            [tls.key ?? tls.certificate] + (tls.passwordFile.map { [$0] } ?? [])
        }
        let shared = configuration.receipts.sharedSecretFile.map { [$0] } ?? []
        return SecretFile.cautions(
            (configuration.security.curve.map { [$0.secretKeyFile] } ?? []) + (tls ?? []) + shared
                + configuration.webhooks.map(\.secretFile))
    }

    /// The reason why the data directory cannot be used, or nil. The check creates nothing.
    package var directoryFault: StartError? {
        var path = configuration.data
        let name = "the data directory \(path)"
        while true {
            var status = stat()
            if stat(path, &status) == 0 {
                guard status.st_mode & S_IFMT == S_IFDIR else {
                    return StartError(
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

    private func cannotUse(_ name: String, at path: String) -> StartError {
        let error = SystemError.current
        return StartError(
            .notPermitted,
            "cannot use \(name): \(error) at \(path); \(Self.advice(error)), or name another directory with data in "
                + "the configuration or --data")
    }

    static func advice(_ error: SystemError) -> String {
        error.number == EROFS ? "mount the file system for writing" : "use an account that may write there"
    }

    static func parent(of path: String) -> String? {
        var path = path[...]
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return path == "." || path == ".." ? nil : "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// All other faults.
    package var faults: [StartError] {
        var faults: [StartError] = []
        let control = Self.controlPath(of: configuration)
        if control.utf8.count > SocketAddress.maxUnixPathLength {
            faults.append(
                StartError(
                    .failed,
                    "cannot open the control socket \(control): a path to a socket has at most \(SocketAddress.maxUnixPathLength) "
                        + "bytes; choose a data directory with a shorter path"))
        }
        do {
            _ = try PipelineSecurity(configuration.security)
        } catch {
            faults.append(
                StartError(
                    error.code,
                    "\(error.description); 'carillon keys curve FILE' makes a key file; without security.curve only "
                        + "this machine can connect"))
        }
        if configuration.http.listen != nil, let tls = configuration.http.tls {
            do {
                _ = try tls.context(tls.identity())
            } catch {
                faults.append(
                    StartError(
                        .configuration,
                        "http.tls cannot be used: \(error); correct it, or leave out http.tls on a loopback address"))
            }
        }
        if configuration.receipts != Configuration.ReceiptRules() {
            do {
                _ = try ReceiptServices(configuration, contexts: contexts)
            } catch {
                faults.append(error)
            }
        }
        return faults + webhookFaults + endpointFaults
    }

    private var webhookFaults: [StartError] {
        var faults: [StartError] = []
        for webhook in configuration.webhooks {
            do {
                _ = try LoadedWebhook(webhook, contexts: contexts)
            } catch {
                faults.append(error)
            }
        }
        return faults
    }

    private var endpointFaults: [StartError] {
        var faults: [StartError] = []
        let binds = [
            ("intake.router", configuration.intake.router), ("intake.pull", configuration.intake.pull),
            ("events.publish", configuration.events.publish), ("events.replay", configuration.events.replay),
        ]
        for (name, bind) in binds {
            switch bind {
            case .tcp(let endpoint): faults += fault(name, tcp: endpoint).map { [$0] } ?? []
            case .ipc(let path): faults += fault(name, ipc: path).map { [$0] } ?? []
            case .off: break
            }
        }
        if let listen = configuration.http.listen, let fault = fault("http.listen", tcp: listen) {
            faults.append(fault)
        }
        return faults
    }

    private func fault(_ name: String, tcp endpoint: HostPort) -> StartError? {
        guard let error = SocketProbe.bindError(endpoint), !(isRunning && error.number == EADDRINUSE) else {
            return nil
        }
        let advice =
            switch error.number {
            case EADDRINUSE: "; another process listens there: stop it, or choose another port"
            case EADDRNOTAVAIL: "; this machine has no such address"
            case EACCES: "; ports below 1024 need a privilege: choose another port"
            default: ""
            }
        return StartError(.unavailable, "cannot open \(name) \(endpoint): \(error)\(advice)")
    }

    private func fault(_ name: String, ipc path: String) -> StartError? {
        if let error = IPCListener.fault(at: path, mayBeInUse: isRunning) {
            return StartError(.unavailable, "cannot open \(name): \(error)")
        }
        guard let directory = Self.parent(of: path), access(directory, W_OK | X_OK) != 0 else { return nil }
        let error = SystemError.current
        // The data directory is created before the sockets.
        if error.number == ENOENT, Self.isSame(directory, as: configuration.data) { return nil }
        return StartError(
            .unavailable,
            "cannot open \(name) ipc://\(path): \(error) at \(directory); create that directory, writable for this user"
        )
    }

    private static func isSame(_ first: String, as second: String) -> Bool {
        func parts(_ path: String) -> [Substring] {
            let whole = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
            return whole.split(separator: "/").filter { $0 != "." }
        }
        return parts(first) == parts(second)
    }
}
