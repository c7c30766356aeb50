import PushModel

/// The requests of a group as the ledger gets them. Those to several Live Activities become one for each: every activity
/// has an order of its own, and waits for its address by itself. Those to a family become one for each member, and those
/// at a local time one for each turn.
struct RequestSplit: Sendable {
    let requests: [PushRequest]
    /// The number of requests that each request of the group became.
    private let counts: [Int]

    /// Returns nil if the group has no request to several activities, to a family or at a local time.
    init?(_ group: [PushRequest]) {
        guard group.contains(where: { $0.fellows != nil || ($0.activities?.count ?? 0) > 1 }) else { return nil }
        var requests: [PushRequest] = []
        var counts: [Int] = []
        for request in group {
            let before = requests.count
            if let fellows = request.fellows {
                requests.append(request)
                for var other in fellows.others {
                    other.client = request.client
                    requests.append(other)
                }
            } else if let names = request.activities, names.count > 1 {
                for name in names { requests.append(request.to(activity: name)) }
            } else {
                requests.append(request)
            }
            counts.append(requests.count - before)
        }
        self.requests = requests
        self.counts = counts
    }

    /// Returns one answer for each request of the group. Whatever was not accepted of a request may be repeated with it.
    func joined(_ answers: [Acceptance]) -> GroupAcceptances {
        precondition(answers.count == requests.count, "there are answers without requests")
        var joined = GroupAcceptances()
        var start = 0
        for count in counts {
            let own = answers[start..<start + count]
            joined.all.append(Self.worst(own))
            joined.members.append(requests[start].fellows == nil ? [] : Array(own))
            start += count
        }
        return joined
    }

    fileprivate static func worst(_ answers: ArraySlice<Acceptance>) -> Acceptance {
        var worst = answers[answers.startIndex]
        for answer in answers where rank(answer) > rank(worst) { worst = answer }
        return worst
    }

    private static func rank(_ answer: Acceptance) -> Int {
        switch answer {
        case .withheld: -1
        case .duplicate: 0
        case .accepted: 1
        case .expired: 2
        case .conflict: 3
        case .crowded: 4
        case .failed: 5
        }
    }
}

/// The answers to the requests of a group.
struct GroupAcceptances: Sendable {
    var all: [Acceptance] = []
    /// The answers for the requests that belong to one envelope, by envelope. None for an envelope that is one request,
    /// and empty if all are.
    var members: [[Acceptance]] = []

    /// Returns the answers for the requests of an envelope; none if it is one request.
    func members(of index: Int) -> [Acceptance] { index < members.count ? members[index] : [] }

    /// Returns the answers for the members of the family that a request is to.
    func members(of index: Int, as fellows: FellowRequests) -> [Acceptance] {
        let all = members(of: index)
        return stride(from: 0, to: all.count, by: fellows.turnCount).map { start in
            RequestSplit.worst(all[start..<min(all.count, start + fellows.turnCount)])
        }
    }
}

extension PushRequest {
    fileprivate var activities: [String]? {
        if case .activities(let names) = audience { names } else { nil }
    }

    fileprivate func to(activity name: String) -> PushRequest {
        var request = PushRequest(message, to: .activities([name]), again: again, findings: findings)
        request.client = client
        return request
    }
}
