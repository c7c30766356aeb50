import PushLogic
import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// Reads one part from the database, page by page, and rebuilds its state. Confined to the ledger's loop.
final class PartLoader {
    /// What a part contains when it is taken over.
    struct Loaded {
        let part: LedgerPart
        /// The cancellations that have no counts yet, and those whose messages may not all be done.
        let cancels: [StoredCancel]
    }

    /// A row of the table `cancels`.
    struct StoredCancel {
        let number: UInt64
        let request: CancelRequest
        let fingerprint: UInt64
        /// Whether its counts are not known.
        let isOpen: Bool
        let parts: [StoredCancelPart]
    }

    private enum Step {
        case bodies, later, keys, cancels
    }

    private static let rowsAtOnce: Int64 = 1024
    private static let timeout: Duration = .seconds(60)

    private let session: PostgreSQLSession
    private let part: Int
    private let epoch: Int64
    private let storeName: String
    private var restore: PartRestore?
    private var cancels: [StoredCancel] = []
    private let done: (Result<Loaded, StoreError>) -> Void
    private var isCancelled = false

    init(
        _ part: Int, epoch: Int64, on session: PostgreSQLSession, into restore: consuming PartRestore,
        storeName: String,
        done: @escaping (Result<Loaded, StoreError>) -> Void
    ) {
        self.part = part
        self.epoch = epoch
        self.session = session
        self.restore = consume restore
        self.storeName = storeName
        self.done = done
    }

    func start() { ask(.bodies, after: Int64(bitPattern: EventNumber.base(of: part))) }

    /// Ends the reading. Nothing is called any more.
    func cancel() { isCancelled = true }

    private func statement(of step: Step) -> PostgreSQLStatement {
        switch step {
        case .bodies: StoreStatements.bodiesAfter
        case .later: StoreStatements.laterAfter
        case .keys: StoreStatements.keysAfter
        case .cancels: StoreStatements.cancelsAfter
        }
    }

    private func ask(_ step: Step, after number: Int64) {
        let section = PostgreSQLSection()
        section.call(statement(of: step)) { parameters in
            parameters.append(int4: Int32(part))
            parameters.append(int8: number)
            parameters.append(int8: Self.rowsAtOnce)
        }
        // The closure keeps this object while it reads.
        session.send(section, timeout: Self.timeout) { [self] reply in take(reply, of: step) }
    }

    private func take(_ reply: PostgreSQLReply, of step: Step) {
        if isCancelled { return }
        switch reply {
        case .done(let results):
            do throws(StoreError) {
                let result = results[0]
                let last = try read(result, of: step)
                if let last, result.rowCount == Self.rowsAtOnce { return ask(step, after: last) }
                next(after: step)
            } catch {
                done(.failure(error))
            }
        case .refused(let failure): fail("\(failure)")
        case .unknown(let reason), .notSent(let reason): fail(reason)
        }
    }

    private func fail(_ reason: String) {
        done(.failure(StoreError(.cannotOpen, "cannot read part \(part) of \(storeName): \(reason)")))
    }

    private func next(after step: Step) {
        let base = Int64(bitPattern: EventNumber.base(of: part))
        switch step {
        case .bodies: ask(.later, after: base)
        case .later: ask(.keys, after: base)
        case .keys: ask(.cancels, after: base)
        case .cancels: askEpoch()
        }
    }

    /// Asks for the current epoch, now that everything is read: if it is the expected one, no other node has written
    /// meanwhile.
    private func askEpoch() {
        let section = PostgreSQLSection()
        section.call(StoreStatements.epoch) { $0.append(int4: Int32(part)) }
        session.send(section, timeout: Self.timeout) { [self] reply in
            if isCancelled { return }
            switch reply {
            case .done(let results):
                let row = results[0].rows.first { _ in true }
                guard let row, let current = try? row.value(0, as: Int64.self),
                    let day = try? row.value(1, as: Int32.self), let hour = try? row.value(2, as: Int32.self)
                else { return fail("the tables leases and horizons do not have it") }
                guard current == epoch else {
                    return fail("another node owns it: its epoch is \(current), and that of this node \(epoch)")
                }
                guard let restore = restore.take() else { return }
                let loaded = restore.finish()
                loaded.horizon = LedgerHorizon(day: day, hour: hour)
                done(.success(Loaded(part: loaded, cancels: cancels)))
            case .refused(let failure): fail("\(failure)")
            case .unknown(let reason), .notSent(let reason): fail(reason)
            }
        }
    }

    // MARK: Rows

    /// Takes the rows of a page. Returns the number of the last one.
    private func read(_ result: PostgreSQLResult, of step: Step) throws(StoreError) -> Int64? {
        var last: Int64?
        for row in result.rows {
            do {
                let number: Int64 = try row.value(0)
                last = number
                let word = UInt64(bitPattern: number)
                switch step {
                case .bodies:
                    try restore?.addBodies(
                        first: word, time: WallTime(milliseconds: try row.value(1)), heads: try row.value(2))
                case .later: try readLater(word, row)
                case .keys:
                    try restore?.addKeys(
                        try row.value(1), number: word, time: WallTime(milliseconds: try row.value(2)))
                case .cancels: try readCancel(word, row)
                }
            } catch let error as StoreError {
                throw error
            } catch {
                throw StoreError(.damaged, "\(storeName) is damaged: part \(part): \(error)")
            }
        }
        return last
    }

    private func readLater(_ seq: UInt64, _ row: PostgreSQLRow) throws {
        let key = AcceptedKey(
            fingerprint: UInt64(bitPattern: try row.value(2)), storedContent: UInt64(bitPattern: try row.value(3)),
            audience: UInt64(bitPattern: try row.value(4)))
        guard let app = AppID(try row.value(5, as: String.self)) else { return }
        try restore?.addScheduled(seq, due: UnixSeconds(try row.value(1)), app: app, key: key)
    }

    private func readCancel(_ number: UInt64, _ row: PostgreSQLRow) throws {
        let fingerprint = UInt64(bitPattern: try row.value(1, as: Int64.self))
        try restore?.addCancelled(fingerprint, number: number, time: WallTime(milliseconds: try row.value(7)))
        guard let app = AppID(try row.value(2, as: String.self)),
            let id = MessageID(accepted: try row.value(3, as: String.self))
        else { return }
        let parts = unsafe try row.withBytes(6) { bytes in
            (0..<(bytes.count / StoredCancelPart.size)).map { unsafe StoredCancelPart(bytes, at: $0) }
        }
        cancels.append(
            StoredCancel(
                number: number, request: CancelRequest(id, of: app, by: try row.value(4)), fingerprint: fingerprint,
                isOpen: try row.value(5), parts: parts))
    }
}
