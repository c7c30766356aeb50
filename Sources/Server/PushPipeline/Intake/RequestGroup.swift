import Glibc
import PushModel

/// The requests of one tick, and the producers that wait for their acks.
///
/// The data is in flat arrays and not in an object for each request: a request adds one element to each of three
/// arrays.
struct RequestGroup: Sendable {
    enum Answer {
        /// One ack for one request.
        case one
        /// One ack for the lines of the batch with this index.
        case batch(Int)
        /// No ack: the request came over PULL.
        case none
    }

    /// The receiver of an ack.
    enum Receiver {
        case nobody
        /// A routing id in `identities`, and the index of a route in `routes`. The length is at most 255: the socket
        /// drops messages of connections with a longer id.
        case routed(start: Int, length: Int, route: Int)
        /// An element of `replies`.
        case direct(Int)
    }

    struct Entry {
        let answer: Answer
        let receiver: Receiver
        /// The index of the client in `callers`; ``nobody`` without CURVE.
        let caller: Int32
    }

    private(set) var requests: [PushRequest] = []
    private(set) var entries: [Entry] = []
    private(set) var batches: [BatchLines] = []
    private(set) var identities: [UInt8] = []
    /// The routes of acks, first the two usual ones.
    private(set) var routes = [AnswerRoute.direct, .delimiter]
    private(set) var replies: [DirectReply] = []
    private var callers: [String] = []
    /// The number of requests, with those that belong to the same envelopes.
    private(set) var count = 0
    /// The size of the envelopes, payloads and batches as received.
    var byteCount = 0
    /// Whether the group contains requests that the ledger failed to write before.
    var isRetry = false

    var isEmpty: Bool { requests.isEmpty }

    /// Returns the configured name of the client that sent an entry; nil without CURVE.
    func client(_ caller: Int32) -> String? { caller == Self.nobody ? nil : callers[Int(caller)] }

    static let nobody: Int32 = -1

    /// Adds a request whose ack goes to `identity`.
    mutating func add(_ request: consuming PushRequest, from identity: UnsafeRawBufferPointer, via route: AnswerRoute) {
        unsafe append(.one, identity, via: route, client: request.client)
        append(request)
    }

    /// Adds a request without an ack.
    mutating func add(_ request: PushRequest) {
        append(request)
        entries.append(
            Entry(answer: .none, receiver: .nobody, caller: caller(request.client)))
    }

    /// Adds a request whose ack goes to `reply`.
    mutating func add(_ request: PushRequest, reply: @escaping DirectReply) {
        append(request)
        append(.one, reply: reply, client: request.client)
    }

    /// Adds a batch, whose lines were added before, and whose ack goes to `reply`.
    mutating func add(_ batch: BatchLines, reply: @escaping DirectReply, client: String?) {
        batches.append(batch)
        append(.batch(batches.count - 1), reply: reply, client: client)
    }

    private mutating func append(_ request: consuming PushRequest) {
        count += request.count
        requests.append(request)
    }

    private mutating func append(_ answer: Answer, reply: @escaping DirectReply, client: String?) {
        replies.append(reply)
        entries.append(Entry(answer: answer, receiver: .direct(replies.count - 1), caller: caller(client)))
    }

    /// Returns the index of the client in `callers`. Messages of one client arrive in runs, so it is compared with the
    /// last name only.
    private mutating func caller(_ client: String?) -> Int32 {
        guard let client else { return Self.nobody }
        if callers.last != client { callers.append(client) }
        return Int32(callers.count - 1)
    }

    /// Adds a request of a batch. The caller adds the batch itself afterwards.
    mutating func addLine(_ request: consuming PushRequest) {
        append(request)
    }

    mutating func add(
        _ batch: BatchLines, from identity: UnsafeRawBufferPointer, via route: AnswerRoute, client: String?
    ) {
        batches.append(batch)
        unsafe append(.batch(batches.count - 1), identity, via: route, client: client)
    }

    private mutating func append(
        _ answer: Answer, _ identity: UnsafeRawBufferPointer, via route: AnswerRoute, client: String?
    ) {
        var start = identities.count
        // Messages of one producer arrive in runs, so the routing id is compared with the last one only.
        if case .routed(let lastStart, let length, _)? = entries.last?.receiver, length == identity.count,
            unsafe isAt(lastStart, identity: identity)
        {
            start = lastStart
        } else {
            unsafe identities.append(contentsOf: identity)
        }
        entries.append(
            Entry(
                answer: answer, receiver: .routed(start: start, length: identity.count, route: index(of: route)),
                caller: caller(client)))
    }

    /// Returns the index of a route in `routes`. Apart from the usual ones it is compared with the last one only.
    private mutating func index(of route: AnswerRoute) -> Int {
        if route == routes[0] { return 0 }
        if route == routes[1] { return 1 }
        if route != routes[routes.count - 1] { routes.append(route) }
        return routes.count - 1
    }

    private func isAt(_ start: Int, identity: UnsafeRawBufferPointer) -> Bool {
        unsafe identities.withUnsafeBytes { identities in
            guard let known = identities.baseAddress, let new = identity.baseAddress else { return true }
            return unsafe memcmp(known + start, new, identity.count) == 0
        }
    }

    /// Reserves capacity for as many requests as the last tick brought.
    mutating func reserve(_ count: Int) {
        requests.reserveCapacity(count)
        entries.reserveCapacity(count)
    }
}

/// The lines of a batch: those that already have a status, and those whose status depends on the ledger.
struct BatchLines: Sendable {
    private(set) var requestCount = 0
    private(set) var lineCount = 0
    private var said: [(line: Int, end: Int)] = []
    private var texts: [UInt8] = []

    /// Records that the next line is handed to the ledger.
    mutating func asked() {
        lineCount += 1
        requestCount += 1
    }

    /// Records the status of the next line.
    mutating func say(_ write: (inout [UInt8]) -> Void) {
        write(&texts)
        said.append((lineCount, texts.count))
        lineCount += 1
    }

    /// Writes the statuses of all lines in order. `answer` writes the status of a request, counted from 0.
    func write(to text: inout [UInt8], answer: (Int, inout [UInt8]) -> Void) {
        var (next, start, request) = (0, 0, 0)
        for line in 0..<lineCount {
            if line > 0 { text.append(UInt8(ascii: "\n")) }
            if next < said.count, said[next].line == line {
                text.append(contentsOf: texts[start..<said[next].end])
                start = said[next].end
                next += 1
            } else {
                answer(request, &text)
                request += 1
            }
        }
    }
}
