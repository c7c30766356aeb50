import PushLogic
import PushModel
import PushTime
import TestSupport
import Testing

/// Room in memory: messages that cannot be sent must not block those that can.
@Suite struct RouterRoomTests {
    private typealias F = RouterFixtures

    /// Several apps that are stuck for random reasons, and one that is not.
    private final class World {
        enum Stuck: CaseIterable {
            /// Its gateway gives no credit.
            case noCredit
            /// Its gateway takes deliveries and never reports their outcomes.
            case silent
            /// Its push service refuses everything for now.
            case retrying
            /// The registry never answers its page requests.
            case noPages
        }

        var machine: RouterMachine
        let policy: RouterPolicy
        let apps: [AppID]
        var stuck: [AppID: Stuck] = [:]
        let moving = AppID("moving")!
        var now = F.begin
        var wall = WallTime(milliseconds: F.second * 1000)
        var messages: [UInt64: AcceptedMessage] = [:]
        var seq: UInt64 = 0
        var done = 0
        var most = 0
        private var taken: [AppID: UInt64] = [:]
        private var random: SeededRandom

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            var policy = RouterPolicy()
            policy.loadedMessages = Int.random(in: 10...60, using: &random)
            policy.loadedBytes = Int.random(in: 10_000...100_000, using: &random)
            policy.load = Int.random(in: 2...8, using: &random)
            policy.loadBelow = 2 * policy.load
            policy.laneFloor = policy.load
            policy.laneFloorBytes = 4000
            policy.begunBrief = Int.random(in: 4...20, using: &random)
            policy.page = 20
            self.policy = policy
            apps = (0..<Int.random(in: 1...12, using: &random)).map { AppID("stuck-\($0)")! }
            machine = RouterMachine(
                policy, identities: F.identities, inactive: TestDevices(), ofOtherKinds: NoDevices(), now: now,
                wall: wall)
            for app in apps {
                let how = Stuck.allCases.randomElement(using: &random)!
                stuck[app] = how
                _ = machine.gateChanged(app, isThere: true)
                let credit = how == .noCredit ? 0 : Int.random(in: 1...200, using: &random)
                machine.reported(GatewayReport(app: app, credit: credit, taken: 0))
            }
            _ = machine.gateChanged(moving, isThere: true)
            machine.reported(GatewayReport(app: moving, credit: 50, taken: 0))
        }

        /// Accepts messages of random stuck apps in all of their lanes.
        func crowd(_ count: Int) {
            for _ in 0..<count {
                let app = apps.randomElement(using: &random)!
                let audience: Audience =
                    stuck[app] == .noPages
                    ? .users(["anna"]) : F.tokens(0..<[1, 1, 30].randomElement(using: &random)!)
                accept(app, audience, PushPriority.allCases.randomElement(using: &random)!)
                if Int.random(in: 0..<20, using: &random) == 0 { run() }
            }
            run()
        }

        func accept(_ app: AppID, _ audience: Audience, _ priority: PushPriority, notBefore: Int64? = nil) {
            seq += 1
            let message = F.accepted(
                seq, app: app, to: audience, priority: priority, notBefore: notBefore, needsClaim: false)
            messages[seq] = message
            machine.accepted([message])
        }

        func pass(_ duration: Duration) {
            now = now + duration
            wall = WallTime(milliseconds: wall.milliseconds + duration.wholeNanoseconds / 1_000_000)
            run()
        }

        func run() {
            var hasMore = true
            while hasMore {
                machine.tick(now: now, wall: wall)
                let (actions, more) = machine.run()
                hasMore = more
                most = max(most, machine.status().loaded)
                done += actions.completed.count { $0.message.app == moving }
                for load in actions.loads {
                    machine.loaded(.success(load.seqs.compactMap { messages[$0] }), lane: load.lane, seqs: load.seqs)
                    hasMore = true
                }
                for submission in actions.submissions {
                    let app = submission.deliveries[0].message.app
                    taken[app, default: 0] += UInt64(submission.deliveries.count)
                    answer(submission.deliveries, app)
                    hasMore = true
                }
                if let due = actions.due {
                    let ready = messages.values.filter {
                        $0.isScheduled && $0.message.notBefore.map { $0 <= due.time } == true
                    }.sorted { $0.seq < $1.seq }.prefix(due.limit)
                    for one in ready { messages[one.seq] = F.accepted(one.seq, app: moving, to: one.audience) }
                    machine.due(.success(DueMessages(messages: Array(ready), next: nil)))
                    hasMore = true
                }
            }
        }

        private func answer(_ deliveries: [Delivery], _ app: AppID) {
            let outcome: DeliveryOutcome
            switch stuck[app] {
            case .retrying?: outcome = .retry(Refusal(status: 503, reason: nil), after: .seconds(3600))
            case nil: outcome = .sent(providerID: nil)
            default: return
            }
            machine.reported(
                GatewayReport(
                    app: app, deliveries: deliveries.map { DeliveryReport(of: $0, outcome, latency: .zero) },
                    credit: 50,
                    taken: taken[app] ?? 0))
        }

        /// The number of messages in memory that are not begun, by lane.
        var unsent: [Int] {
            machine.status().apps.filter { $0.app != moving }.flatMap { $0.lines.map { $0.waiting - $0.spilled } }
        }
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>, [PushPriority.ten, .five, .one])
    func `A lane that can send has room, whatever blocks the others`(seed: UInt64, priority: PushPriority) {
        let world = World(seed: seed)
        world.crowd(400)
        // The first round comes before any lane counts as stalled, the others later.
        for round in 1...3 {
            for number in 0..<100 { world.accept(world.moving, F.tokens(number..<number + 1), priority) }
            world.run()
            #expect(world.done == 100 * round)
            world.pass(.seconds(6))
            world.crowd(50)
        }
        let lanes = 6 * (world.apps.count + 1)
        #expect(world.most <= world.policy.loadedMessages + lanes * world.policy.laneFloor + world.policy.look)
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `A lane that cannot send holds at most one load of unsent messages`(seed: UInt64) {
        let world = World(seed: seed)
        world.crowd(600)
        world.pass(.seconds(6))
        world.pass(.seconds(6))
        #expect(world.unsent.allSatisfy { $0 <= world.policy.load }, "\(world.unsent) of \(world.policy.load)")
        world.crowd(100)
        #expect(world.unsent.allSatisfy { $0 <= world.policy.load }, "\(world.unsent) of \(world.policy.load)")
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `Due messages are read however many messages are in memory`(seed: UInt64) {
        let world = World(seed: seed)
        world.accept(world.moving, F.tokens(0..<1), .ten, notBefore: F.second + 5)
        world.crowd(400)
        #expect(world.done == 0)
        world.pass(.seconds(6))
        #expect(world.done == 1)
    }

    @Test func `A lane whose gateway disappears during a load continues with the next gateway`() {
        let desk = RouterDesk()
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        desk.accept(F.accepted(1, to: F.tokens(1..<2)))
        _ = desk.machine.gateChanged(F.shop, isThere: true)
        desk.run()
        #expect(desk.loads.count == 1)
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        desk.machine.loaded(
            .success([F.accepted(1, to: F.tokens(1..<2))]), lane: desk.loads[0].lane, seqs: desk.loads[0].seqs)
        desk.run()
        _ = desk.machine.gateChanged(F.shop, isThere: true)
        desk.run()
        #expect(desk.loads.map(\.seqs) == [[1], [1]])
    }

    @Test func `The early credit of a new gateway is kept if the old gateway reports later`() {
        let desk = RouterDesk(credit: 0)
        let (old, new) = (TestDevices(), TestDevices())
        _ = desk.machine.gateChanged(F.shop, isThere: true, source: ObjectIdentifier(old))
        _ = desk.machine.gateChanged(F.shop, isThere: false)
        desk.machine.reported(GatewayReport(app: F.shop, source: ObjectIdentifier(new), credit: 7, taken: 0))
        desk.machine.reported(GatewayReport(app: F.shop, source: ObjectIdentifier(old), credit: 0, taken: 0))
        _ = desk.machine.gateChanged(F.shop, isThere: true, source: ObjectIdentifier(new))
        #expect(desk.machine.status().apps[0].credit == 7)
    }
}
