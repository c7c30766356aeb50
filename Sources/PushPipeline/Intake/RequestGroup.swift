import Glibc
import PushModel

/// What one tick brought: requests for the ledger, and who waits for their answers.
///
/// Runs of memory, not an object for each request: what a request costs here is its place in three arrays.
struct RequestGroup: Sendable {
    enum Answer {
        /// An ack for one request.
        case one
        /// An ack for the lines of a batch: which one.
        case batch(Int)
        /// None: it came over PULL.
        case none
    }

    /// Who waits: a routing id among `identities`.
    struct Entry {
        let answer: Answer
        let identityStart: Int
        /// At most 255: the socket lets nobody through with a longer one.
        let identityLength: Int
        let hasDelimiter: Bool
        /// The client's index in `callers`; `nobody` without CURVE.
        let caller: Int32
    }

    private(set) var requests: [PushRequest] = []
    private(set) var entries: [Entry] = []
    private(set) var batches: [BatchLines] = []
    private(set) var identities: [UInt8] = []
    private var callers: [String] = []
    /// Of the envelopes, as they came.
    var byteCount = 0
    /// Whether it has requests in it that the ledger failed to write before.
    var isRetry = false

    var isEmpty: Bool { requests.isEmpty }

    /// The configured name of the client that handed an entry in; nil without CURVE.
    func client(_ caller: Int32) -> String? { caller == Self.nobody ? nil : callers[Int(caller)] }

    static let nobody: Int32 = -1

    /// A request whose ack goes to `identity`.
    mutating func add(_ request: PushRequest, from identity: UnsafeRawBufferPointer, hasDelimiter: Bool) {
        requests.append(request)
        unsafe append(.one, identity, hasDelimiter, client: request.client)
    }

    /// A request that nobody waits for.
    mutating func add(_ request: PushRequest) {
        requests.append(request)
        entries.append(
            Entry(
                answer: .none, identityStart: 0, identityLength: 0, hasDelimiter: false,
                caller: caller(request.client)))
    }

    /// Messages of one client arrive in runs, so comparing with the last name is enough.
    private mutating func caller(_ client: String?) -> Int32 {
        guard let client else { return Self.nobody }
        if callers.last != client { callers.append(client) }
        return Int32(callers.count - 1)
    }

    /// A request of a batch that `add` of the batch follows.
    mutating func addLine(_ request: PushRequest) {
        requests.append(request)
    }

    mutating func add(
        _ batch: BatchLines, from identity: UnsafeRawBufferPointer, hasDelimiter: Bool, client: String?
    ) {
        batches.append(batch)
        unsafe append(.batch(batches.count - 1), identity, hasDelimiter, client: client)
    }

    private mutating func append(
        _ answer: Answer, _ identity: UnsafeRawBufferPointer, _ hasDelimiter: Bool, client: String?
    ) {
        var start = identities.count
        // What one producer sends comes in runs.
        if let last = entries.last, last.identityLength == identity.count, unsafe isAt(last.identityStart, identity) {
            start = last.identityStart
        } else {
            unsafe identities.append(contentsOf: identity)
        }
        entries.append(
            Entry(
                answer: answer, identityStart: start, identityLength: identity.count, hasDelimiter: hasDelimiter,
                caller: caller(client)))
    }

    private func isAt(_ start: Int, _ identity: UnsafeRawBufferPointer) -> Bool {
        unsafe identities.withUnsafeBytes { identities in
            guard let known = identities.baseAddress, let new = identity.baseAddress else { return true }
            return unsafe memcmp(known + start, new, identity.count) == 0
        }
    }

    /// Room for as much as the tick before brought.
    mutating func reserve(_ count: Int) {
        requests.reserveCapacity(count)
        entries.reserveCapacity(count)
    }
}

/// The lines of a batch: those that are said already, and between them those that the ledger answers.
struct BatchLines: Sendable {
    private(set) var requestCount = 0
    private(set) var lineCount = 0
    private var said: [(line: Int, end: Int)] = []
    private var texts: [UInt8] = []

    /// The next line is with the ledger.
    mutating func asked() {
        lineCount += 1
        requestCount += 1
    }

    /// The next line has its status.
    mutating func say(_ write: (inout [UInt8]) -> Void) {
        write(&texts)
        said.append((lineCount, texts.count))
        lineCount += 1
    }

    /// All lines in their order; `answer` writes the status of a request, counted from 0.
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
