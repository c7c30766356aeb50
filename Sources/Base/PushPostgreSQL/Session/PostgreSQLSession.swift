import Glibc
package import PushLoop

/// A connection that is opened again when it is lost, to whichever host is the primary. Confined to its loop.
///
/// At each connect it checks that the server keeps what it acknowledges, and is not a primary that was replaced. It repeats
/// the check while it is up. It never sends a section twice: the owner decides what to do with an unknown outcome.
package final class PostgreSQLSession {
    package struct Settings: Sendable {
        package var durability = PostgreSQLDurability.replicated
        package var limits = PostgreSQLConnection.Limits()
        /// The time for the check of a server.
        package var checkTimeout = Duration.seconds(5)
        /// The time between two checks while the session is up.
        package var checkInterval = Duration.seconds(10)
        /// Whether a server that fails the check is refused. Otherwise ``ServerInfo/faults`` has the reasons.
        package var refusesFaults = true
        /// What the sessions with these settings, and with copies of them, know about the primary; nil if the owner of
        /// the session judges its servers.
        package var primary: SeenPrimary? = SeenPrimary()

        package init() {}
    }

    /// Returns the numeric addresses of a host name. It may wait, and runs on no particular thread.
    package typealias Resolver = @Sendable (PostgreSQLHost) async throws -> [String]

    package enum Change: Sendable {
        case up(ServerInfo)
        /// The session is down, with the reason and what to change.
        case down(String)
    }

    package let loop: EventLoop
    /// Called for each change, once per outage and recovery. Sections that were in flight have had their replies.
    package var onChange: ((Change) -> Void)?
    /// Called for each failed round over all hosts, for the log.
    package var onFailure: ((String) -> Void)?
    package var onNotice: ((PostgreSQLNotice) -> Void)?
    /// The server; nil while the session is down.
    package private(set) var info: ServerInfo?
    /// Why the session is down, as its last attempt found; nil while it is up.
    package private(set) var fault: String?

    private let options: PostgreSQLOptions
    private let settings: Settings
    private let resolver: Resolver
    private let retryDelay: (_ failures: Int) -> Duration
    private var machine = SessionMachine()
    private var connection: PostgreSQLConnection?
    private let section = PostgreSQLSection()
    private var retry = DeadlineTimer()
    private var nextCheck = DeadlineTimer()
    private var watch: Int?

    /// - Parameter retryDelay: The delay after a number of failed rounds; after none, a session that was lost is opened
    ///   again.
    package init(
        on loop: EventLoop, options: PostgreSQLOptions, settings: Settings = Settings(), resolver: @escaping Resolver,
        retryDelay: @escaping (_ failures: Int) -> Duration
    ) {
        loop.assertOnLoop()
        self.loop = loop
        self.options = options
        self.settings = settings
        self.resolver = resolver
        self.retryDelay = retryDelay
        section.call(ServerFacts.statement)
    }

    package var isUp: Bool { machine.isUp }

    /// Starts connecting.
    package func start() {
        loop.assertOnLoop()
        watch = settings.primary?.watch(on: loop) { [weak self] in self?.primaryChanged() }
        perform(machine.started())
    }

    /// Closes the connection and does not open another. Sections in flight get their reply from within this call, and
    /// no change is reported.
    package func stop() {
        loop.assertOnLoop()
        retry.disarm(on: loop)
        if let watch = watch.take() { settings.primary?.endWatch(watch) }
        onChange = nil
        onFailure = nil
        perform(machine.stopped())
        onNotice = nil
    }

    /// Leaves the server, as if it had failed the check, and looks for another one.
    package func reject(_ reason: String) {
        loop.assertOnLoop()
        failed(reason)
    }

    /// Sends a section on the current connection; see ``PostgreSQLConnection/send(_:timeout:reply:)``. While the
    /// session is down, the reply is `notSent`.
    package func send(
        _ section: PostgreSQLSection, timeout: Duration, reply: @escaping PostgreSQLConnection.Reply
    ) {
        loop.assertOnLoop()
        guard machine.isUp, let connection else {
            loop.schedule(after: .zero) { reply(.notSent("the session to PostgreSQL is down")) }
            return
        }
        connection.send(section, timeout: timeout, reply: reply)
    }

    package var sectionsInFlight: Int { connection?.sectionsInFlight ?? 0 }

    private func perform(_ actions: [SessionMachine.Action]) {
        for action in actions {
            switch action {
            case .resolve: resolve()
            case .connect(let target): connect(to: target)
            case .disconnect: disconnect()
            case .reportUp(let info):
                self.info = info
                fault = nil
                scheduleCheck()
                onChange?(.up(info))
            case .reportDown(let reason):
                fault = reason
                onChange?(.down(reason))
            case .reportFailure(let reason):
                fault = reason
                onFailure?(reason)
            case .retry(let failures):
                retry.arm(
                    at: loop.now + retryDelay(failures), on: loop,
                    action: { [weak self] in
                        guard let self else { return }
                        perform(machine.retryDue())
                    })
            }
        }
    }

    // MARK: Names

    private func resolve() {
        let box = LoopBound(WeakSession(session: self), on: loop)
        let (hosts, resolver, loop) = (options.hosts, resolver, loop)
        Task {
            let lookup = await HostLookup(hosts, resolver: resolver)
            // The lookup cannot be canceled, and may end after the loop.
            loop.executeUnlessStopped { box.wrapped.session?.resolved(lookup) }
        }
    }

    private struct WeakSession {
        weak var session: PostgreSQLSession?
    }

    private func resolved(_ lookup: HostLookup) {
        perform(machine.resolved(lookup.targets, faults: lookup.faults))
    }

    // MARK: Connection

    private func connect(to target: PostgreSQLTarget) {
        let connection = PostgreSQLConnection(on: loop, to: target, options: options, limits: settings.limits)
        self.connection = connection
        connection.onReady = { [weak self] in self?.check() }
        connection.onClosed = { [weak self] in self?.failed($0) }
        connection.onNotice = { [weak self] in self?.onNotice?($0) }
        connection.open()
    }

    private func disconnect() {
        nextCheck.disarm(on: loop)
        info = nil
        connection.take()?.close()
    }

    private func failed(_ reason: String) {
        perform(machine.failed(reason, now: loop.now))
    }

    private func check() {
        guard let connection else { return }
        let sent = WallTime.current()
        connection.send(section, timeout: settings.checkTimeout) { [weak self, weak connection] reply in
            guard let self, let connection, connection === self.connection else { return }
            checked(reply, target: connection.target, sent: sent)
        }
    }

    /// Another session has seen a newer primary.
    private func primaryChanged() {
        if machine.isUp, let info, let fault = settings.primary?.fault(of: info) { failed(fault) }
    }

    private func checked(_ reply: PostgreSQLReply, target: PostgreSQLTarget, sent: WallTime) {
        switch reply {
        case .done(let results):
            do throws(PostgreSQLValueError) {
                guard let result = results.first else { return failed("the server \(target) answered without a row") }
                let facts = try ServerFacts(try result.row())
                let faults = facts.faults(at: target, durability: settings.durability)
                if settings.refusesFaults, let fault = faults.first { return failed(fault) }
                var info = facts.info(at: target, sent: sent, received: .current())
                info.faults = faults
                if settings.refusesFaults, let fault = settings.primary?.fault(of: info) { return failed(fault) }
                if machine.isUp {
                    self.info = info
                    scheduleCheck()
                } else {
                    perform(machine.accepted(info, now: loop.now))
                }
            } catch {
                failed("cannot check the server \(target): \(error)")
            }
        case .refused(let failure): failed("cannot check the server \(target): \(failure)")
        // The connection reports its loss.
        case .unknown: break
        // Others use the connection, and wait for their replies.
        case .notSent(let reason): machine.isUp ? scheduleCheck() : failed(reason)
        }
    }

    private func scheduleCheck() {
        nextCheck.arm(
            at: loop.now + settings.checkInterval, on: loop, action: { [weak self] in self?.check() })
    }
}
