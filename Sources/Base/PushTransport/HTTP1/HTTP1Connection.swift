package import PushLoop

/// A connection of one client: it parses requests strictly, passes them to the server's handler one at a time, and
/// writes the answers in order. Confined to the server's loop.
package final class HTTP1Connection {
    enum Phase {
        /// The connection is being established, including TLS. Can transition to: reading, finishing, closed.
        case opening
        /// The machine parses the input. Can transition to: answering, finishing, closing.
        case reading
        /// The handler has the request; pipelined input waits. Can transition to: resting, finishing, closing.
        case answering
        /// The answer is complete. The next request is read when the client has taken most of the output. Can transition
        /// to: reading, closing.
        case resting
        /// The last answer is complete, and its output is being sent. Can transition to: closing.
        case finishing
        /// The channel is closing. Input is dropped. Can transition to: closed.
        case closing
        case closed

        var isClosed: Bool { if case .closed = self { true } else { false } }
    }

    /// The decision about an accepted connection.
    enum Admission {
        case served
        /// The connection is answered with 503 because the maximum number of connections is open.
        case refused
    }

    /// The amount of pipelined input above which no more is read while a request is answered.
    private static let heldBytes = 16 * 1024
    /// The number of pipelined requests that are served in one go. Then all other connections of the loop have their turn.
    private static let requestsPerTurn = 8
    /// The amount of output above which a pipelined request waits.
    private static let outputBeforeNext = 32 * 1024

    /// The number of the connection on its server. It is small, and reused when the connection has closed.
    package let number: Int
    /// Data that the application keeps with the connection, for example its authenticated user. It is released when the
    /// connection has closed.
    package var context: AnyObject?
    package let peer: HTTP1Peer
    package let loop: EventLoop

    let server: HTTP1Server
    let limits: HTTP1Limits
    let channel: Channel
    let admission: Admission
    var phase = Phase.opening
    var exchange = HTTP1Exchange(number: 0, isHead: false, isHTTP10: false, isLast: false)
    private var machine: HTTP1RequestMachine
    private(set) var incoming = ByteQueue(keepingCapacity: 0)
    private var isParsing = false
    private var served = 0
    private var servedInTurn = 0
    private var wasRefused = false

    var deadline = HTTP1Deadline()
    private var timedStage: HTTP1RequestMachine.Stage?
    private var bodyBegan = MonotonicTime(nanoseconds: 0)
    /// The parts of the incomplete request and of the unsent output that the server has counted.
    private(set) var countedBody = 0
    private(set) var countedOutput = 0

    init(
        _ socket: consuming Socket, tls: TLSEngine?, number: Int, admission: Admission, on server: HTTP1Server
    ) {
        self.server = server
        self.number = number
        self.admission = admission
        loop = server.loop
        limits = server.limits
        machine = HTTP1RequestMachine(limits: server.limits)
        channel = Channel(socket, on: server.loop, tls: tls, keepsBuffers: false, handler: nil)
        peer = HTTP1Peer(channel.peer)
        exchange.settle(.answered)
        channel.handler = self
        setDeadline(loop.now + limits.headerTime)
        channel.start()
    }

    /// Closes the connection. A complete answer is still sent; a request without a complete answer is dropped, and its
    /// handler is notified.
    package func close() {
        loop.assertOnLoop()
        switch phase {
        case .resting:
            phase = .finishing
            channel.askForFlush()
        case .reading: closeWhenSent()
        case .opening, .answering: abort()
        case .finishing, .closing, .closed: break
        }
    }

    // MARK: Reading

    func take(_ bytes: UnsafeRawBufferPointer) {
        switch phase {
        case .reading where incoming.isEmpty:
            servedInTurn = 0
            let used = unsafe parse(bytes)
            unsafe hold(UnsafeRawBufferPointer(rebasing: bytes[used...]))
        case .reading, .answering, .resting:
            unsafe hold(bytes)
            parseHeld()
        case .opening, .finishing, .closing, .closed: break
        }
    }

    /// Keeps bytes for later. While a request is answered, they are bounded by not reading more.
    private func hold(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 0 else { return }
        switch phase {
        case .reading: unsafe incoming.append(bytes)
        case .answering, .resting:
            unsafe incoming.append(bytes)
            if incoming.count > Self.heldBytes { channel.isReadingPaused = true }
        case .opening, .finishing, .closing, .closed: break
        }
    }

    private func parseHeld() {
        guard case .reading = phase, !isParsing else { return }
        // The queue is moved out, because handlers run while its bytes are parsed.
        var held = ByteQueue(keepingCapacity: 0)
        swap(&held, &incoming)
        let used = unsafe held.withBytes { unsafe parse($0) }
        held.consume(used)
        swap(&held, &incoming)
    }

    /// Parses requests and passes them on, as long as they are answered at once. Returns the number of consumed bytes.
    private func parse(_ bytes: UnsafeRawBufferPointer) -> Int {
        isParsing = true
        defer { isParsing = false }
        var used = 0
        while case .reading = phase {
            switch unsafe machine.next(bytes, used: &used) {
            case .needsMore:
                if waitForMore(after: bytes.count - used) { return used }
            case .expectsContinue:
                if used == bytes.count { channel.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
            case .request(let head, let body):
                guard server.outputBytes <= limits.allOutputBytes || server.makeRoom(forAnswerTo: self) else {
                    refuse(
                        HTTP1Refusal(503, because: "too many answers wait for clients to read them; try again later"),
                        isHead: head.method == .head)
                    break
                }
                begin(isHead: head.method == .head, isHTTP10: head.isHTTP10, wantsClose: head.wantsClose)
                server.handle(
                    HTTP1Request(head: head, body: body, peer: peer, user: channel.user),
                    with: HTTP1Responder(to: exchange.number, on: self))
                if case .resting = phase, canReadNext {
                    if loop.isTurnOver { server.yield(self) } else { phase = .reading }
                }
                if servedInTurn >= Self.requestsPerTurn { server.yield(self) }
            case .refused(let refusal, let isHead):
                refuse(refusal, isHead: isHead)
            }
        }
        server.table.endWait(at: number)
        return used
    }

    /// Waits for the rest of a request, of which `held` bytes are kept unparsed. Returns false if there is too much to
    /// wait for.
    private func waitForMore(after held: Int) -> Bool {
        countBody(machine.bodyCount + held)
        if server.bodyBytes > limits.allBodiesBytes, !server.makeRoom(forBodyOf: self) {
            refuse(Self.tooManyBodies, isHead: machine.asksForHead)
            return false
        }
        // A body that is received goes on waiting; everything else begins a new wait.
        let stage = machine.stage(hasBytes: held > 0)
        if stage != timedStage { waitForClient() }
        setDeadline(for: stage)
        return true
    }

    private static let tooManyBodies = HTTP1Refusal(
        503, because: "the server is receiving too many large requests; try again later")

    /// Refuses the request whose body is being received, so that there is room for others.
    func giveWay() {
        guard case .reading = phase, !isParsing else { return }
        refuse(Self.tooManyBodies, isHead: machine.asksForHead)
        finishIfSent()
    }

    /// Drops a connection whose client does not read, so that others are answered.
    func dropUnread() {
        channel.abort()
        // The rest happens when the channel reports its end; what it held is free already.
        server.outputBytes -= countedOutput
        countedOutput = 0
    }

    /// Makes the connection the last of those that may be closed to make room for others.
    private func waitForClient() {
        if admission == .served { server.table.wait(at: number) }
    }

    private func countBody(_ count: Int) {
        guard count != countedBody else { return }
        server.bodyBytes += count - countedBody
        countedBody = count
    }

    /// Counts the unsent output. Called when output was added, sent or dropped.
    func countOutput() {
        let count = phase.isClosed ? 0 : channel.outputBacklog
        guard count != countedOutput else { return }
        server.outputBytes += count - countedOutput
        countedOutput = count
    }

    // MARK: Requests

    private func begin(isHead: Bool, isHTTP10: Bool, wantsClose: Bool) {
        phase = .answering
        served += 1
        servedInTurn += 1
        deadline.clear()
        timedStage = nil
        countBody(0)
        exchange = HTTP1Exchange(
            number: exchange.number + 1, isHead: isHead, isHTTP10: isHTTP10,
            isLast: wantsClose || limits.requestsPerConnection == served)
    }

    /// Answers without a handler, and closes.
    func refuse(_ refusal: HTTP1Refusal, isHead: Bool) {
        wasRefused = true
        machine.stop(refusal)
        begin(isHead: isHead, isHTTP10: false, wantsClose: true)
        refuse(refusal, method: machine.method)
    }

    private var canReadNext: Bool {
        channel.outputBacklog <= Self.outputBeforeNext && servedInTurn < Self.requestsPerTurn
    }

    /// Goes on with pipelined requests after other connections had their turn.
    func beginTurn() {
        servedInTurn = 0
        resume()
    }

    /// Goes on with input that has waited for an answer to be sent.
    func resume() {
        guard case .resting = phase, !isParsing, canReadNext else { return }
        phase = .reading
        if server.isDraining, incoming.isEmpty { return closeWhenSent() }
        parseHeld()
        if case .reading = phase { channel.isReadingPaused = false }
    }

    /// Called when the answer to the current request is complete.
    func answerIsComplete() {
        exchange.settle(.answered)
        phase = exchange.isLast || wasRefused || server.isDraining ? .finishing : .resting
        if isParsing { return }
        // The request is not read on within a call of the handler, but at the end of the tick.
        channel.askForFlush()
    }

    func finishIfSent() {
        guard case .finishing = phase, channel.outputBacklog == 0 else { return }
        closeWhenSent()
    }

    // MARK: Time limits

    private func setDeadline(for stage: HTTP1RequestMachine.Stage) {
        let isNew = stage != timedStage
        timedStage = stage
        switch stage {
        case .idle where isNew: setDeadline(loop.now + limits.idleTime)
        case .head where isNew: setDeadline(loop.now + limits.headerTime)
        case .body:
            if isNew { bodyBegan = loop.now }
            setDeadline(bodyBegan + limits.bodyTime(after: machine.bodyCount))
        case .idle, .head: break
        }
    }

    /// Begins the wait for the first request. A client that has sent nothing yet is as idle as one between two requests.
    func waitForFirstRequest() { setDeadline(for: .idle) }

    private func setDeadline(_ time: MonotonicTime) {
        // The reference is safe: closing disarms the timer.
        deadline.set(time, on: loop, action: { [unowned self] in timerFired() })
    }

    private func timerFired() {
        switch deadline.timerFired(at: loop.now) {
        case .due: timeIsUp()
        case .early(let time): setDeadline(time)
        case .idle: break
        }
    }

    /// Limits the time of a client that does not read. Called when output was added.
    func outputWasAdded() {
        countOutput()
        if deadline.time == nil { setDeadline(loop.now + limits.stallTime) }
    }

    private func timeIsUp() {
        switch phase {
        case .opening: abort()
        case .reading:
            let stage = machine.stage(hasBytes: !incoming.isEmpty)
            guard stage != .idle else { return closeWhenSent() }
            let what = stage == .head ? "the header fields" : "the body"
            refuse(HTTP1Refusal(408, because: "\(what) took too long"), isHead: machine.asksForHead)
        case .answering, .resting, .finishing:
            if channel.outputBacklog > 0 { channel.abort() }
        case .closing, .closed: break
        }
    }

    // MARK: Closing

    /// Closes the connection if no request has begun.
    func closeIfIdle() {
        switch phase {
        case .opening: abort()
        case .reading where machine.stage(hasBytes: !incoming.isEmpty) == .idle: closeWhenSent()
        case .reading, .answering, .resting, .finishing, .closing, .closed: break
        }
    }

    /// Closes the connection at once if it has only waited for its client since it had answered `request`.
    func evict(after request: UInt64) {
        guard request == exchange.number else { return }
        switch phase {
        case .opening, .reading, .closing: channel.drop()
        case .answering, .resting, .finishing, .closed: break
        }
    }

    /// Releases what the connection holds, and notifies a handler that is answering.
    func hasClosed() {
        phase = .closed
        deadline.disarm(on: loop)
        countBody(0)
        countOutput()
        incoming.removeAll()
        let notify = exchange.isOpen ? exchange.onClose : nil
        if exchange.isOpen { exchange.settle(.gone) }
        notify?()
        context = nil
        server.remove(self)
    }

    /// Drops the connection and its request. A handler that is answering is notified.
    func abort() {
        if case .streaming = exchange.state { return channel.abort() }
        if channel.outputBacklog > 0 { return channel.abort() }
        closeWhenSent()
    }

    func closeWhenSent() {
        phase = .closing
        deadline.clear()
        // A client that was refused may still be sending, and must be able to read the refusal.
        channel.close(within: limits.lingerTime, wasRefused ? .waits : .leaves)
        waitForClient()
    }
}
