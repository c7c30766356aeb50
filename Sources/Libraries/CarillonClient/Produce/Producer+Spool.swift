import PushLoop
import PushTime

/// The way of messages into the spool and out of it.
extension Producer {
    /// Stores a submission if there is a spool that it must go to: because others of its app are in there, which go
    /// first, or because there is no room.
    func spools(_ submission: Submission) -> Bool {
        guard let spooling, submission.isSpoolable else { return false }
        let isFirst = !spooling.apps.contains(submission.request.appKey)
        if !isClosed, isFirst, machine.hasRoom(for: submission.request) { return false }
        spool(submission)
        return true
    }

    /// Returns a submission that waits only as long as a push with a spool does.
    func limited(_ submission: Submission) -> Submission {
        guard let spooling, submission.isSpoolable else { return submission }
        return submission.limited(to: spooling.settings.answerWithin)
    }

    private func spool(_ submission: Submission) {
        guard var spooling = spooling.take() else { return }
        if spooling.queue.isEmpty
            || spooling.queuedBytes + submission.request.count <= settings.producer.maxWaitingBytes
        {
            spooling.queue.append(submission)
            spooling.queuedBytes += submission.request.count
            spooling.apps.add(submission.request.appKey)
        } else {
            submission.waiter.resume(with: .failed(.busy(retryAfter: .milliseconds(250))))
        }
        self.spooling = spooling
        writeSpool()
    }

    func cancelSpooling(of ticket: Ticket) {
        guard let index = spooling?.queue.firstIndex(where: { $0.ticket == ticket }),
            let submission = spooling?.queue.remove(at: index)
        else { return }
        spooling?.queuedBytes -= submission.request.count
        spooling?.apps.remove(submission.request.appKey)
        submission.waiter.resume(with: .failed(.cancelled(inDoubt: false)))
    }

    /// Continues with the outcome of a request if it concerns the spool.
    func finishSpooled(_ submission: Submission, with outcome: ProducerMachine.Outcome) -> Bool {
        guard spooling != nil else { return false }
        if case .spool(let number) = submission.waiter {
            switch outcome {
            // The end of the client. The record stays for the next client.
            case .failed(.closed): return true
            case .failed: refuseOld(submission.request)
            default:
                if case .answered(.rejected(let refusal)) = outcome { report(refusal, of: submission.request) }
                tally.count(outcome)
            }
            spooling?.ended(submission.request)
            spooling?.apps.remove(submission.request.appKey)
            spooling?.acknowledged.append(number)
            continueSpool()
            return true
        }
        guard submission.isSpoolable, case .failed(let error) = outcome, error.leadsToSpool else {
            return false
        }
        spool(submission)
        return true
    }

    private func refuseOld(_ request: EncodedRequest) {
        guard let maxAge = spooling?.settings.maxAge else { return }
        let refusal = PushRefusal(
            .tooOld,
            detail: "the message was in the spool for longer than \(maxAge); Carillon may not know its id any more")
        report(refusal, of: request)
        tally.count(.answered(.rejected(refusal)))
    }

    private func report(_ refusal: PushRefusal, of request: EncodedRequest) {
        spooling?.settings.onRefused(request.id, request.app, refusal)
        settings.log(.error, "message from the spool refused", ["reason": refusal.reason.rawValue])
    }

    /// Ends requests whose deadline has passed. With one that goes to the spool, the younger ones of its app go there
    /// that were not sent: otherwise they would overtake it if Carillon came back now.
    func end(_ late: [(Ticket, ProducerMachine.Outcome)]) {
        var apps: Set<IDKey> = []
        for (ticket, outcome) in late {
            if spooling != nil, case .failed(let error) = outcome, error.leadsToSpool,
                let submission = submissions[ticket.number], submission.isSpoolable
            {
                apps.insert(submission.request.appKey)
            }
            finish(ticket, with: outcome)
        }
        guard !apps.isEmpty else { return }
        let younger = machine.giveUp(apps) { submissions[$0.number]?.isSpoolable ?? false }
        for (ticket, outcome) in younger { finish(ticket, with: outcome) }
    }

    // MARK: Writing

    private func writeSpool() {
        guard let spooling, !spooling.isWriting, !spooling.queue.isEmpty, !isClosed else { return }
        let batch = takeQueue()
        self.spooling?.isWriting = true
        let files = spooling.files
        let loop = loop
        files.executor.execute {
            let errors = files.append(batch.map { $0.request })
            loop.executeUnlessStopped { self.assumeIsolated { $0.wrote(batch, errors: errors) } }
        }
    }

    private func takeQueue() -> [Submission] {
        let batch = spooling?.queue ?? []
        spooling?.queue = []
        spooling?.queuedBytes = 0
        return batch
    }

    private func wrote(_ batch: [Submission], errors: [PushError?]) {
        spooling?.isWriting = false
        for (submission, error) in zip(batch, errors) {
            let outcome: ProducerMachine.Outcome = error.map { .failed($0) } ?? .spooled
            tally.count(outcome)
            if error == nil {
                spooling?.hasUnread = true
            } else {
                spooling?.apps.remove(submission.request.appKey)
            }
            submission.waiter.resume(with: outcome)
        }
        writeSpool()
        start()
        continueSpool()
        requestFlush()
    }

    // MARK: Reading

    /// Takes the next steps: stores what is acknowledged, reads more, and hands it to the machine.
    func continueSpool() {
        guard spooling != nil, !isClosed else { return }
        if machine.isConnected { feed() }
        storeAcknowledged()
        guard machine.isConnected else { return }
        guard let spooling, !spooling.isReading, spooling.ready.isEmpty else { return }
        let shares = SpoolShares(machine, spooling, now: loop.now)
        guard spooling.hasUnread || spooling.parked.contains(where: { room(for: $0, in: shares) > 0 }),
            shares.flowing < settings.producer.window - settings.producer.window / 2
        else { return }
        self.spooling?.isReading = true
        let files = spooling.files
        let (limit, bytes) = (settings.producer.window, settings.producer.windowBytes)
        let rooms = Dictionary(
            uniqueKeysWithValues: shares.busy.union(spooling.parked).map { ($0, room(for: $0, in: shares)) })
        let loop = loop
        files.executor.execute {
            let page = files.read(upTo: limit, bytes: bytes, room: rooms)
            loop.executeUnlessStopped { self.assumeIsolated { $0.hasRead(page) } }
        }
    }

    private func hasRead(_ page: SpoolFiles.Page) {
        guard var spooling = spooling.take() else { return }
        var lost = 0
        for numbers in page.lost {
            let count = Int(clamping: numbers.upperBound - numbers.lowerBound + 1)
            lost += count
            settings.log(
                .error, "messages of the spool are damaged, and lost; their file is kept as .damaged",
                ["count": "\(count)", "first": "\(numbers.lowerBound)"])
        }
        tally.lost += lost
        spooling.ready += page.records
        spooling.hasUnread = page.hasMore
        spooling.parked = page.parked
        spooling.isReading = false
        self.spooling = spooling
        if let problem = page.problem { pauseReading(problem) }
        // A page has no records if others were passed over up to its limit.
        continueSpool()
        requestFlush()
    }

    /// Reads on later: what cannot be read now, for want of descriptors or of a disk, is not lost.
    private func pauseReading(_ problem: String) {
        guard !isClosed else { return }
        settings.log(.error, "the spool cannot be read", ["reason": problem])
        spooling?.isReading = true
        spoolTimer = loop.schedule(after: Self.readPause) { [weak self] in
            self?.assumeIsolated {
                $0.spoolTimer = nil
                $0.spooling?.isReading = false
                $0.continueSpool()
                $0.requestFlush()
            }
        }
    }

    private static let readPause = Duration.seconds(1)

    private func feed() {
        guard let spooling, !spooling.ready.isEmpty else { return }
        var ready = spooling.ready[...]
        var returned: [IDKey: [UInt64]] = [:]
        let now = WallTime.current()
        var shares = SpoolShares(machine, spooling, now: loop.now)
        while let record = ready.first, shares.flowing < settings.producer.window {
            let app = record.request.appKey
            let timeLeft = spooling.timeLeft(of: record, now: now)
            if timeLeft <= .zero {
                refuseOld(record.request)
                self.spooling?.apps.remove(app)
                self.spooling?.acknowledged.append(record.number)
            } else if returned[app] != nil || spooling.returning[app] != nil || room(for: app, in: shares) == 0 {
                returned[app, default: []].append(record.number)
            } else {
                let submission = Submission(
                    ticket: mailbox.nextTicket(), request: record.request, deadline: timeLeft,
                    waiter: .spool(record.number))
                // What waits for busy apps may have all of the room. One message goes beside it.
                guard enter(submission, isForced: shares.flowing == 0) == nil else { break }
                self.spooling?.began(record.request)
                shares.began(app)
            }
            ready = ready.dropFirst()
        }
        self.spooling?.ready = Array(ready)
        giveBack(returned)
    }

    // MARK: Acknowledging

    private func storeAcknowledged() {
        guard let spooling, !spooling.isAcknowledging else { return }
        guard !spooling.acknowledged.isEmpty else { return }
        let numbers = spooling.acknowledged
        self.spooling?.acknowledged = []
        self.spooling?.isAcknowledging = true
        let files = spooling.files
        let loop = loop
        files.executor.execute {
            let left = files.acknowledge(numbers)
            let problem = files.takeProblem()
            loop.executeUnlessStopped { self.assumeIsolated { $0.stored(left: left, problem: problem) } }
        }
    }

    private func stored(left: Int, problem: String?) {
        if let problem {
            settings.log(
                .error, "some files of the spool with no message left cannot be removed, and take space",
                ["reason": problem])
        }
        spooling?.isAcknowledging = false
        if left == 0 { spooling?.forgetApps() }
        continueSpool()
        requestFlush()
    }

    // MARK: End

    /// Stores what the end of the producer left over, and ends the thread of the spool.
    func closeSpool() async {
        guard let files = spooling?.files else { return }
        let batch = takeQueue()
        let numbers = spooling?.acknowledged ?? []
        spooling?.acknowledged = []
        let errors = await files.executor.run {
            let errors = files.append(batch.map { $0.request })
            _ = files.acknowledge(numbers)
            files.close()
            return errors
        }
        for (submission, error) in zip(batch, errors) {
            submission.waiter.resume(with: error.map { .failed($0) } ?? .spooled)
        }
        await files.executor.shutDown()
    }
}

extension Submission {
    /// Whether the message may go to the spool. A cancellation may not, because its answer is wanted.
    var isSpoolable: Bool {
        if case .spool = waiter { return false }
        return request.kind == .push
    }

    /// The number of a message from the spool.
    var spoolNumber: UInt64? {
        if case .spool(let number) = waiter { number } else { nil }
    }

    func limited(to limit: Duration) -> Submission {
        Submission(ticket: ticket, request: request, deadline: min(deadline, limit), waiter: waiter)
    }
}

extension PushError {
    /// Whether a message with this error goes to the spool.
    var leadsToSpool: Bool {
        switch self {
        case .busy, .unknown, .unavailable, .closed: true
        case .refused, .cancelled, .spoolFull, .spoolFailed: false
        }
    }
}
