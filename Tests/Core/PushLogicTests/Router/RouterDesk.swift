import PushLogic
import PushModel
import PushTime

/// A router machine with one gateway, and a driver that answers its requests.
final class RouterDesk {
    private typealias F = RouterFixtures

    var machine: RouterMachine
    let inactive = TestDevices()
    let ofOtherKinds = TestDevices()
    let ownerChanges = TestOwnerChanges()
    let waits = TestActivityWaits()
    var now = F.begin
    var wall = WallTime(milliseconds: F.second * 1000)
    var out: [Delivery] = []
    var records: [DeliveryRecord] = []
    var completed: [CompletedMessage] = []
    var candidates: [Deactivation] = []
    var updated: [DeviceID] = []
    var pages: [RouterActions.PageRequest] = []
    var claims: [(messages: [MessageHandle], pages: [ClaimPage])] = []
    var loads: [RouterActions.LoadRequest] = []
    var due: [RouterActions.DueRequest] = []
    var verdict: (DeviceID) -> ClaimVerdict = { _ in .new }
    var answersClaims = true
    var recalls: [UInt64] = []
    var cancelEnds: [CancelEnd] = []
    var releases: [ClaimPage] = []
    /// Whether the gateway answers recalls at once, and returns the cancelled deliveries among `returnable`.
    var answersRecalls = true
    /// The number of deliveries at the gateway, counted from the last, that were not written.
    var returnable = 0
    private var recalled: UInt64 = 0
    private var taken: UInt64 = 0

    init(_ policy: RouterPolicy = RouterPolicy(), credit: Int = 1000) {
        machine = RouterMachine(
            policy, identities: F.identities, inactive: inactive, ofOtherKinds: ofOtherKinds,
            ownerChanges: ownerChanges, now: now, wall: wall, activityWaits: waits)
        _ = machine.gateChanged(F.shop, isThere: true)
        report([], credit: credit)
    }

    func accept(_ messages: AcceptedMessage...) {
        machine.accepted(messages)
        run()
    }

    func run() {
        var goesOn = true
        while goesOn {
            machine.tick(now: now, wall: wall)
            let (actions, hasMore) = machine.run()
            goesOn = hasMore
            records += actions.earlierRecords + actions.records
            completed += actions.earlierCompleted + actions.completed
            candidates += actions.answers.flatMap(\.candidates)
            updated += actions.updated
            for submission in actions.submissions {
                out += submission.deliveries
                taken += UInt64(submission.deliveries.count)
            }
            cancelEnds += actions.cancelEnds
            releases += actions.releases
            recalls += actions.recalls.map(\.number)
            if answersRecalls, let number = actions.recalls.last?.number {
                recalled = number
                let back = out.suffix(returnable).filter(\.message.isWithdrawn)
                out.removeAll { one in back.contains { $0.ticket == one.ticket } }
                machine.reported(
                    GatewayReport(
                        app: F.shop, deliveries: back.map { DeliveryReport(of: $0, nil, latency: .zero) },
                        credit: 1000, taken: taken, recalled: recalled))
                goesOn = true
            }
            pages += actions.pages
            loads += actions.loads
            if let asked = actions.due { due.append(asked) }
            if actions.claims.isEmpty { continue }
            claims.append((actions.claimants, actions.claims))
            if answersClaims {
                machine.claimed(actions.claims.map { $0.devices.map(verdict) }, for: actions.claimants)
                goesOn = true
            }
        }
    }

    func pass(_ duration: Duration) {
        now = now + duration
        wall = WallTime(milliseconds: wall.milliseconds + duration.wholeNanoseconds / 1_000_000)
        run()
    }

    func report(_ outcomes: [(Delivery, DeliveryOutcome?)], credit: Int = 1000) {
        let reports = outcomes.map { DeliveryReport(of: $0.0, $0.1, latency: .zero) }
        machine.reported(GatewayReport(app: F.shop, deliveries: reports, credit: credit, taken: taken))
        run()
    }

    func endAll(_ outcome: DeliveryOutcome? = .sent(providerID: nil)) {
        endAll { _ in outcome }
    }

    func endAll(_ outcome: (Message) -> DeliveryOutcome?) {
        let all = out
        out = []
        report(all.map { ($0, outcome($0.message)) })
    }
}
