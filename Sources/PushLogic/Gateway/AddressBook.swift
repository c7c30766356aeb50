import PushTime

/// What is known of the addresses of one host: which of them went silent or failed, and until when they are passed
/// over.
///
/// Some front ends of a push service take connections and never answer while their neighbours do (PEERS §2.5).
struct AddressBook {
    private struct Mark {
        let address: String
        var strikes: Int
        var until: MonotonicTime
    }

    /// More bad addresses than this are not remembered: the one that is free first is forgotten.
    static let capacity = 64

    private let quarantine: Backoff
    private var marks: [Mark] = []

    init(quarantine: Backoff) {
        self.quarantine = quarantine
    }

    /// The least used of those that are not in quarantine, any of them when several are; when all are in quarantine,
    /// the one that is free first. Nil when there are none.
    func choose(
        from found: [String], uses: (String) -> Int, now: MonotonicTime, using random: inout SplitMix
    ) -> String? {
        var best: [String] = []
        var fewest = Int.max
        for address in found where !isQuarantined(address, now: now) {
            let count = uses(address)
            if count < fewest {
                fewest = count
                best = []
            }
            if count == fewest { best.append(address) }
        }
        if let chosen = best.randomElement(using: &random) { return chosen }
        return found.min { freeAt($0) < freeAt($1) }
    }

    mutating func failed(_ address: String, now: MonotonicTime, random: Double) {
        if let index = marks.firstIndex(where: { $0.address == address }) {
            marks[index].strikes += 1
            marks[index].until = now + quarantine.delay(afterFailures: marks[index].strikes, random: random)
            return
        }
        if marks.count == Self.capacity, let first = marks.indices.min(by: { marks[$0].until < marks[$1].until }) {
            marks.remove(at: first)
        }
        marks.append(
            Mark(address: address, strikes: 1, until: now + quarantine.delay(afterFailures: 1, random: random)))
    }

    /// It answered: what it did before is forgiven.
    mutating func answered(_ address: String) {
        marks.removeAll { $0.address == address }
    }

    func isQuarantined(_ address: String, now: MonotonicTime) -> Bool {
        marks.contains { $0.address == address && now < $0.until }
    }

    private func freeAt(_ address: String) -> MonotonicTime {
        marks.first { $0.address == address }?.until ?? MonotonicTime(nanoseconds: .min)
    }
}
