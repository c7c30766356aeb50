import PushTime

/// What the messages of the spool may take of the room of the producer, in which they wait to be sent.
struct SpoolShares {
    /// The apps that Carillon has no room for.
    let busy: Set<IDKey>
    /// The messages and bytes that such an app may have under way. They find out when Carillon has room; the others wait
    /// on the disk. Together, those of all such apps leave room for other apps.
    let messages: Int
    let bytes: Int
    /// The number of messages that are under way, without those of busy apps, which hold up no others.
    private(set) var flowing: Int

    init(_ machine: ProducerMachine, _ spooling: Spooling, now: MonotonicTime) {
        self.init(busy: machine.busyApps(now: now), settings: machine.settings)
        flowing = busy.reduce(spooling.total) { $0 - spooling.load(of: $1).messages }
    }

    init(busy: Set<IDKey>, settings: ProducerSettings) {
        self.busy = busy
        messages = max(1, settings.window / max(16, 4 * busy.count))
        bytes = max(1, settings.maxWaitingBytes / 2 / max(1, busy.count))
        flowing = 0
    }

    mutating func began(_ app: IDKey) {
        if !busy.contains(app) { flowing += 1 }
    }

    /// Returns how many more messages an app may have that has some under way.
    func room(beside load: Spooling.Load) -> Int { load.bytes < bytes ? max(0, messages - load.messages) : 0 }
}

extension Producer {
    /// Returns how many more messages of an app may go out. An app with messages that were passed over is limited, too:
    /// it may be busy again.
    func room(for app: IDKey, in shares: SpoolShares) -> Int {
        let isBusy = shares.busy.contains(app)
        guard let spooling, isBusy || spooling.parked.contains(app) else { return settings.producer.window }
        return isBusy && machine.isHalfFull ? 0 : shares.room(beside: spooling.load(of: app))
    }

    /// Gives back messages of apps for which Carillon has no room now, except for their first ones.
    func returnSurplus() {
        guard let spooling, spooling.total > 0 else { return }
        let shares = SpoolShares(machine, spooling, now: loop.now)
        var returned: [IDKey: [UInt64]] = [:]
        for app in shares.busy {
            let load = spooling.load(of: app)
            guard load.messages > shares.messages || load.bytes > shares.bytes else { continue }
            let kept = firstNumbers(of: app, within: shares)
            let ended = machine.giveUp([app]) { ticket in
                submissions[ticket.number]?.spoolNumber.map { !kept.contains($0) } ?? false
            }
            for (ticket, _) in ended {
                guard let submission = submissions.remove(ticket.number), let number = submission.spoolNumber else {
                    continue
                }
                self.spooling?.ended(submission.request)
                returned[app, default: []].append(number)
            }
        }
        giveBack(returned)
    }

    /// Returns the numbers of the first records of an app that are under way, as many as it may have.
    private func firstNumbers(of app: IDKey, within shares: SpoolShares) -> Set<UInt64> {
        var records: [(number: UInt64, bytes: Int)] = []
        submissions.forEach { _, submission in
            guard submission.request.appKey == app, let number = submission.spoolNumber else { return }
            records.append((number, submission.request.count))
        }
        records.sort { $0.number < $1.number }
        var load = Spooling.Load()
        var kept: Set<UInt64> = []
        for record in records where shares.room(beside: load) > 0 {
            kept.insert(record.number)
            load.messages += 1
            load.bytes += record.bytes
        }
        return kept
    }

    func giveBack(_ returned: [IDKey: [UInt64]]) {
        guard !returned.isEmpty, let files = spooling?.files, !isClosed else { return }
        var returned = returned
        spooling?.beginReturning(&returned)
        let (numbers, loop) = (returned, loop)
        files.executor.execute {
            for (app, numbers) in numbers { files.giveBack(numbers, of: app) }
            let parked = files.parked
            loop.executeUnlessStopped {
                self.assumeIsolated {
                    $0.spooling?.endReturning(numbers.keys)
                    $0.spooling?.parked = parked
                    $0.spooling?.hasUnread = true
                    $0.continueSpool()
                    $0.requestFlush()
                }
            }
        }
    }
}
