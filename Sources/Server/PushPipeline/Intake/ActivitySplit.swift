import PushModel

/// The requests of a group, of which those to several Live Activities become one for each: every activity has an order of
/// its own, and waits for its address by itself.
struct ActivitySplit: Sendable {
    let requests: [PushRequest]
    /// The number of requests that each request of the group became.
    private let counts: [Int]

    /// Returns nil if the group has no request to several activities.
    init?(_ group: [PushRequest]) {
        guard group.contains(where: { ($0.activities?.count ?? 0) > 1 }) else { return nil }
        var requests: [PushRequest] = []
        var counts: [Int] = []
        for request in group {
            guard let names = request.activities, names.count > 1 else {
                requests.append(request)
                counts.append(1)
                continue
            }
            for name in names { requests.append(request.to(activity: name)) }
            counts.append(names.count)
        }
        self.requests = requests
        self.counts = counts
    }

    /// Returns one answer for each request of the group. Whatever was not accepted of a request may be repeated with it.
    func joined(_ answers: [Acceptance]) -> [Acceptance] {
        precondition(answers.count == requests.count, "there are answers without requests")
        var start = 0
        return counts.map { count in
            defer { start += count }
            return Self.worst(answers[start..<start + count])
        }
    }

    private static func worst(_ answers: ArraySlice<Acceptance>) -> Acceptance {
        var worst = answers[answers.startIndex]
        for answer in answers where rank(answer) > rank(worst) { worst = answer }
        return worst
    }

    private static func rank(_ answer: Acceptance) -> Int {
        switch answer {
        case .duplicate: 0
        case .accepted: 1
        case .expired: 2
        case .conflict: 3
        case .failed: 4
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
