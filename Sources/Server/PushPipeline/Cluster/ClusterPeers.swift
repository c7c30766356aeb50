package import PushLoop
package import PushModel
package import PushTransport
package import PushWire

/// The connections between the nodes of a cluster. Each node listens with its key, connects to all other members, and
/// knows them by the keys in the table of nodes.
///
/// The actor is pinned to its loop, which must run until ``stop()`` has returned.
package actor ClusterPeers {
    package struct Settings: Sendable {
        /// The endpoint at which other nodes connect, `cluster.listen`.
        package var listen: String
        package var keys: CurveKeyPair
        package var map: PartitionMap
        /// The time after which a call without an answer is given up.
        package var timeout = Duration.seconds(5)
        /// The limits of what one other node has not answered. Further calls fail at once.
        package var maxUnansweredBytes = 64 << 20
        package var maxUnansweredCalls = 900
        /// The limit of what other nodes have handed in and the ledger has not answered.
        package var maxOpenBytes = 256 << 20
        /// The size above which the requests of one call are sent in several messages.
        package var maxMessageBytes = 1 << 20
        /// Called on the loop when another node does not own a partition that the table says it does.
        package var stale: @Sendable () -> Void = {}
        /// Called on the loop when another node has sent a hint to look at the tables.
        package var hinted: @Sendable () -> Void = {}
        /// Answers a question of another node about this one, with nil if the question is not understood. Called on the
        /// loop; the reply may come on any thread.
        package var answer: (@Sendable ([UInt8], @escaping @Sendable ([UInt8]?) -> Void) -> Void)?
        /// Called on the loop for a message that is not understood or not expected.
        package var strange: @Sendable () -> Void = {}
        /// Called on any thread with sentences for the log.
        package var warning: @Sendable (String) -> Void = { _ in }

        package init(listen: String, keys: CurveKeyPair, map: PartitionMap) {
            self.listen = listen
            self.keys = keys
            self.map = map
        }
    }

    /// The ZAP domain of the socket.
    static let domain = "cluster"
    /// A request can be as large as a frame of a producer, and comes after those that fill a message.
    static let maxFrameSize = 32 << 20

    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    private let settings: Settings
    private let context: ZMQContext
    private let handler: ZAPHandler
    private let server: PeerServer
    private var links: [NodeID: PeerLink] = [:]
    /// The other nodes that this one is connected to, for other threads.
    package nonisolated let connected = Locked(Set<NodeID>())
    private var newestLink = 0
    private var members: [NodeID: NodeContact] = [:]
    private var isStopped = false

    /// The time after which a node that did not know this one is asked again.
    private static let retryAfter = Duration.milliseconds(200)

    /// Listens. No node is admitted before ``update(_:)``.
    ///
    /// - Parameters:
    ///   - ledger: The ledger of this node itself.
    ///   - receipts: The log of this node itself.
    package static func start(
        _ settings: Settings, for ledger: any Ledger, _ receipts: any ReceiptLog, on loop: EventLoop
    ) async throws(ZMQError) -> ClusterPeers {
        let context = try ZMQContext()
        do throws(ZMQError) {
            let handler = try ZAPHandler(in: context, users: [:]) { refusal in
                settings.warning(
                    "a connection from \(refusal.address) to the cluster socket was refused: \(refusal.reason); a node "
                        + "that has just joined is admitted in a moment")
            }
            return try await loop.run { () throws(ZMQError) in
                let server = try PeerServer(settings, for: ledger, receipts, in: context, on: loop)
                return ClusterPeers(settings, context, handler, LoopBound(server, on: loop), on: loop)
            }
        } catch {
            await context.terminate()
            throw error
        }
    }

    private init(
        _ settings: Settings, _ context: ZMQContext, _ handler: ZAPHandler, _ server: LoopBound<PeerServer>,
        on loop: EventLoop
    ) {
        self.settings = settings
        self.context = context
        self.handler = handler
        self.server = server.wrapped
        self.loop = loop
    }

    /// The endpoint at which this node listens, with the port that the system has chosen.
    package var endpoint: String { server.endpoint }

    /// Takes the members and the owners that are known now: connects to new members, and admits them.
    package nonisolated func update(_ table: OwnerTable) {
        loop.executeUnlessStopped { self.assumeIsolated { $0.take(table) } }
    }

    private func take(_ table: OwnerTable) {
        guard !isStopped else { return }
        server.table = table
        guard table.members != members else { return }
        members = table.members
        var users: [CurvePublicKey: String] = [:]
        for (node, contact) in members {
            do throws(ZMQError) {
                users[try CurvePublicKey(z85: contact.publicKey)] = node.name
            } catch {
                settings.warning("the row of node \(node) has an invalid public key: \(error)")
            }
        }
        do throws(ZMQError) {
            try handler.replaceUsers(users)
        } catch {
            settings.warning("cannot admit the nodes of the cluster: \(error)")
        }
        for (node, link) in links where members[node] != link.contact {
            remove(link)
            link.close("node \(node) has left or moved; repeat the request")
        }
        for (node, contact) in members where links[node] == nil { connect(to: node, at: contact) }
    }

    private func connect(to node: NodeID, at contact: NodeContact) {
        do throws(ZMQError) {
            let link = try PeerLink(to: node, at: contact, settings, in: context, on: loop)
            newestLink += 1
            let number = newestLink
            link.number = number
            link.onRefused = { [weak self] in self?.assumeIsolated { $0.connectLater(to: node, instead: number) } }
            link.onChange = { [connected] isConnected in
                connected.withLock { nodes in
                    if isConnected { nodes.insert(node) } else { nodes.remove(node) }
                }
            }
            links[node] = link
        } catch {
            settings.warning("cannot connect to node \(node) at \(contact.address): \(error)")
        }
    }

    private func remove(_ link: PeerLink) {
        links[link.node] = nil
        connected.withLock { _ = $0.remove(link.node) }
    }

    /// Connects anew after a moment: the other node has not yet read that this one joined.
    private func connectLater(to node: NodeID, instead number: Int) {
        loop.schedule(after: Self.retryAfter) { [weak self] in
            self?.assumeIsolated { peers in
                guard !peers.isStopped, let link = peers.links[node], link.number == number else { return }
                peers.remove(link)
                link.close("node \(node) refuses the key of this node; repeat the request")
                peers.connect(to: node, at: link.contact)
            }
        }
    }

    /// Closes all sockets. Calls without an answer fail.
    package func stop() async {
        if exchange(&isStopped, with: true) { return }
        for link in exchange(&links, with: [:]).values { link.close("the node shuts down") }
        server.close()
        await context.terminate()
    }

    // MARK: Calls

    /// Sends a node the hint that the tables have changed. It may be lost.
    package nonisolated func hint(_ node: NodeID) {
        loop.executeUnlessStopped { self.assumeIsolated { $0.links[node]?.hint() } }
    }

    /// Passes requests to another node. `reply` is called once, on the loop.
    nonisolated func accept(
        _ requests: [PushRequest], at node: NodeID, reply: @escaping @Sendable ([Acceptance]) -> Void
    ) {
        loop.executeUnlessStopped { self.assumeIsolated { $0.forward(requests, to: node, reply: reply) } }
    }

    private func forward(
        _ requests: [PushRequest], to node: NodeID, reply: @escaping @Sendable ([Acceptance]) -> Void
    ) {
        let answer = GroupAnswer(count: requests.count, reply: reply)
        var bytes: [UInt8] = []
        var start = 0
        for (index, request) in requests.enumerated() {
            ForwardedCall.append(request, to: &bytes)
            let isLast = index == requests.count - 1
            // The requests to a family stay together.
            guard isLast || (bytes.count >= settings.maxMessageBytes && !requests[index + 1].isJoined) else { continue }
            let places = Array(start...index)
            send(PeerNumber.accept, bytes, count: places.count, to: node) { [weak self] outcome in
                switch outcome {
                case .success(.items(let items)):
                    if items.contains(.notOwned) { self?.settings.stale() }
                    answer.take(items.map { $0.acceptance(of: node) }, at: places)
                case .success(.refused(let reason)): answer.fail("node \(node): \(reason)", at: places)
                case .success(.cancellations), .success(.receipt), .success(.knowledge):
                    answer.fail(Self.misunderstood(node), at: places)
                case .failure(let fault): answer.fail(fault.description, at: places)
                }
            }
            start = index + 1
            bytes.removeAll(keepingCapacity: true)
        }
    }

    nonisolated func cancel(
        _ requests: [CancelRequest], at node: NodeID, reply: @escaping @Sendable ([Cancellation]) -> Void
    ) {
        let (bytes, count) = (ForwardedCall.bytes(requests), requests.count)
        askOne(PeerNumber.cancel, bytes, count: count, of: node) { answer in
            func fail(_ reason: String) { reply(Array(repeating: .failed(reason), count: count)) }
            switch answer {
            case .success(.cancellations(let results)): reply(results)
            case .success: fail(Self.misunderstood(node))
            case .failure(let fault): fail(fault.description)
            }
        }
    }

    nonisolated func take(
        _ receipt: ReceivedReceipt, at node: NodeID, reply: @escaping @Sendable (ReceiptIntake) -> Void
    ) {
        askOne(PeerNumber.receipt, ForwardedCall.bytes(receipt), of: node) { answer in
            switch answer {
            case .success(.receipt(let result)): reply(result)
            case .success: reply(.failed(Self.misunderstood(node)))
            case .failure(let fault): reply(.failed(fault.description))
            }
        }
    }

    /// Asks another node something about itself. If there is no answer within `limit`, the fault says so.
    package func ask(
        _ question: [UInt8], of node: NodeID, within limit: Duration
    ) async -> Result<[UInt8], LedgerFault> {
        await withCheckedContinuation { continuation in
            let waiting = Locked<CheckedContinuation<Result<[UInt8], LedgerFault>, Never>?>(continuation)
            let finish: @Sendable (Result<[UInt8], LedgerFault>) -> Void = { result in
                waiting.withLock { $0.take() }?.resume(returning: result)
            }
            loop.schedule(after: limit) {
                finish(.failure(LedgerFault("node \(node) has not answered within \(limit.components.seconds) s")))
            }
            send(PeerNumber.ask, question, count: 1, to: node) { answer in
                switch answer {
                case .success(.knowledge(let content)): finish(.success(content))
                case .success(.refused(let reason)): finish(.failure(LedgerFault("node \(node): \(reason)")))
                case .success: finish(.failure(LedgerFault(Self.misunderstood(node))))
                case .failure(let fault): finish(.failure(fault))
                }
            }
        }
    }

    /// Passes a call about one message to another node. The answer is one of this kind, or a failure.
    private nonisolated func askOne(
        _ kind: StaticString, _ body: [UInt8], count: Int = 1, of node: NodeID,
        reply: @escaping @Sendable (Result<ForwardedAnswer, LedgerFault>) -> Void
    ) {
        loop.executeUnlessStopped {
            self.assumeIsolated { peers in
                peers.send(kind, body, count: count, to: node) { [settings = peers.settings] answer in
                    switch answer {
                    case .success(.items(let items)) where items.allSatisfy({ $0 == .notOwned }):
                        settings.stale()
                        reply(.failure(LedgerFault(Self.misplaced(node))))
                    case .success(.refused(let reason)): reply(.failure(LedgerFault("node \(node): \(reason)")))
                    case .success, .failure: reply(answer)
                    }
                }
            }
        }
    }

    private func send(
        _ kind: StaticString, _ body: [UInt8], count: Int, to node: NodeID,
        reply: @escaping (Result<ForwardedAnswer, LedgerFault>) -> Void
    ) {
        guard let link = links[node] else {
            return reply(.failure(LedgerFault("node \(node) is not connected; repeat the request")))
        }
        link.send(kind, body) { [settings] outcome in
            switch outcome {
            case .failure(let fault): reply(.failure(fault))
            case .success(let bytes):
                let answer = unsafe bytes.withUnsafeBytes { unsafe ForwardedAnswer($0, count: count) }
                if let answer { return reply(.success(answer)) }
                settings.strange()
                reply(.failure(LedgerFault(Self.misunderstood(node))))
            }
        }
    }

    private static func misunderstood(_ node: NodeID) -> String {
        "node \(node) gave an answer that is not understood; start the same version of Carillon on all nodes"
    }

    static func misplaced(_ node: NodeID) -> String {
        "the partition has moved away from node \(node); repeat the request"
    }
}

extension ForwardedAnswer.Item {
    fileprivate func acceptance(of node: NodeID) -> Acceptance {
        switch self {
        case .done(let acceptance): acceptance
        case .notOwned: .failed(ClusterPeers.misplaced(node))
        }
    }
}
