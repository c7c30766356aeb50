import PushLogic
import PushLoop
import PushModel

/// Announces 30, 7 and 1 days ahead that a credential expires: each of them once, also across restarts.
///
/// It is pinned to a loop. An announcement is stored after it was made, so that a crash in between repeats it.
actor CredentialExpiry {
    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
    private let record: ExpiryRecord
    private let files: BlockingPool
    private let log: Logger
    /// Publishes an event for monitors.
    private let announce: @Sendable (EventDraft) -> Void
    private var watch: ExpiryWatch
    /// The nearest announced window of each app.
    private var announced: [String: ExpiryWatch.Announcement] = [:]
    private var timer: TimerID?
    private var isStopped = false
    private var writing: Task<Void, Never>?
    private var isDirty = false

    /// Creates a watch that is not started yet.
    ///
    /// - Parameter announced: the announcements of earlier runs.
    init(
        on loop: EventLoop, announced: [ExpiryWatch.Announcement], record: ExpiryRecord, files: BlockingPool,
        log: Logger,
        announce: @escaping @Sendable (EventDraft) -> Void
    ) {
        self.loop = loop
        self.record = record
        self.files = files
        self.log = log
        self.announce = announce
        watch = ExpiryWatch(announced: announced)
        for one in announced {
            let last = self.announced[one.name]
            if last.map({ ($0.notAfter, $0.window) < (one.notAfter, one.window) }) ?? true {
                self.announced[one.name] = one
            }
        }
    }

    /// Reads from the data directory which expiries earlier runs announced, and returns a watch that knows them.
    static func open(
        directory: String, on loop: EventLoop, files: BlockingPool, log: Logger,
        announce: @escaping @Sendable (EventDraft) -> Void
    ) async -> CredentialExpiry {
        let record = ExpiryRecord(directory: directory)
        var announced: [ExpiryWatch.Announcement] = []
        do {
            announced = try await files.run { try record.read() }
        } catch {
            log.warning(
                "cannot read the announced expiries; they are announced again",
                [.file: record.path, .error: "\(error)"])
        }
        return CredentialExpiry(
            on: loop, announced: announced, record: record, files: files, log: log, announce: announce)
    }

    // MARK: Calls from any thread

    /// Watches the credential of an app. `notAfter` is nil if the credential does not expire.
    nonisolated func watch(_ app: AppID, notAfter: WallTime?) {
        run { if let notAfter { $0.watch.watch(app.name, notAfter: notAfter) } else { $0.remove(app.name) } }
    }

    /// The name of the certificate of the HTTP port in the record. No app can have it.
    private static let server = "http:tls"

    /// Watches the certificate of the HTTP port.
    nonisolated func watchServer(notAfter: WallTime) { run { $0.watch.watch(Self.server, notAfter: notAfter) } }

    nonisolated func forget(_ app: AppID) { run { $0.remove(app.name) } }

    /// Makes the announcements that are due, and schedules later ones.
    nonisolated func announceDue() { run { $0.announceNow() } }

    private nonisolated func run(_ work: @escaping @Sendable (isolated CredentialExpiry) -> Void) {
        loop.execute { self.assumeIsolated { work($0) } }
    }

    /// Stops the watch. Returns when all announcements are stored.
    func stop() async {
        isStopped = true
        if let timer { loop.cancel(timer) }
        timer = nil
        while let writing { await writing.value }
    }

    /// The time at which the credential of an app expires, if that was announced in this run or an earlier one.
    func announcedExpiry(of app: AppID) -> WallTime? { announced[app.name]?.notAfter }

    // MARK: Calls on the loop

    private func remove(_ name: String) {
        watch.forget(name)
        if announced.removeValue(forKey: name) != nil { write() }
    }

    private func announceNow() {
        guard !isStopped else { return }
        if let timer { loop.cancel(timer) }
        timer = nil
        let now = WallTime.current()
        let notices = watch.look(at: now)
        for notice in notices {
            report(notice)
            announced[notice.announcement.name] = notice.announcement
        }
        if !notices.isEmpty { write() }
        guard let next = watch.nextLook(after: now) else { return }
        let wait = Duration.milliseconds(max(1000, next.milliseconds - now.milliseconds))
        timer = loop.schedule(after: wait) { [weak self] in
            self?.assumeIsolated {
                $0.timer = nil
                $0.announceNow()
            }
        }
    }

    private func report(_ notice: ExpiryWatch.Notice) {
        let (name, end) = (notice.announcement.name, notice.announcement.notAfter)
        let isServer = name == Self.server
        var fields: LogFields = [
            .event: "credential.expiring", .expires: end, .windowDays: notice.announcement.window.days,
        ]
        if !isServer { fields.append(name, for: .app) }
        let what = isServer ? "certificate of http.tls" : "certificate"
        let event = notice.secondsLeft <= 0 ? "has expired" : "expires in \(Self.timeLeft(seconds: notice.secondsLeft))"
        log.warning("\(what) \(event); replace its file, then run 'carillon reload'", fields)
        var draft = EventDraft(.credentialExpiring, app: AppID(name))
        if isServer { draft.reason = "http.tls" }
        draft.add("expires_at", number: end.milliseconds)
        draft.add("days", number: max(0, notice.secondsLeft) / 86_400)
        announce(draft)
    }

    /// Returns the time left in whole days, or in hours if there is less than a day.
    static func timeLeft(seconds: Int64) -> String {
        let (days, hours) = (seconds / 86_400, seconds / 3600)
        if days >= 1 { return days == 1 ? "1 day" : "\(days) days" }
        if hours >= 1 { return hours == 1 ? "1 hour" : "\(hours) hours" }
        return "less than an hour"
    }

    private func write() {
        isDirty = true
        guard writing == nil else { return }
        writing = Task {
            while isDirty {
                isDirty = false
                let list = announced.values.sorted { $0.name < $1.name }
                do {
                    try await files.run { [record] in try record.write(list) }
                } catch {
                    log.warning(
                        "cannot store that an expiry was announced; a restart announces it again",
                        [.file: record.path, .error: "\(error)"])
                }
            }
            writing = nil
        }
    }
}
