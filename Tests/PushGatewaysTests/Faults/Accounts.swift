import Foundation
import PushModel
import Testing

/// Compares two books: what the gateway says became of each delivery, and what the simulated Apple says it processed.
struct Accounts {
    /// By apns-id, how often Apple processed it and took it.
    private var taken: [String: Int] = [:]

    /// The last number that was read of the simulator's record.
    private(set) var last = 0

    /// From the simulator's record, or what came after a number of it.
    init(_ apple: SimulatedApple, since: Int = 0) async throws {
        last = since
        while true {
            let lines = await apple.received(since: last)
            if lines.isEmpty { return }
            // What the simulator had to forget cannot be accounted for.
            #expect(lines[0].number == last + 1)
            for line in lines {
                last = max(last, line.number)
                if line.isTaken { taken[line.id, default: 0] += 1 }
            }
        }
    }

    /// - Returns: what does not add up, in words; nothing if all does.
    func faults(_ book: GatewayOwner.Book, _ deliveries: [Delivery], resendsUnknown: Bool = true) -> [String] {
        var faults: [String] = []
        if book.surplus > 0 { faults.append("\(book.surplus) reports too many") }
        for (number, delivery) in deliveries.enumerated() {
            let times = taken[delivery.apnsID.description] ?? 0
            let unknown = book.unknown[number]
            switch book.terminal[number] {
            case nil:
                faults.append("\(number) has no outcome")
            case .accepted?:
                if times == 0 { faults.append("\(number) is accepted, but Apple never took it: lost") }
                // Each unknown one may have been taken, and nothing else may.
                if times > 1 + unknown {
                    faults.append("\(number) was taken \(times) times, \(unknown) unknown: doubled")
                }
            case .unknown?:
                if times > 1 { faults.append("\(number) was not to be sent again, and was taken \(times) times") }
            case .rejected?, .expired?:
                if times > unknown { faults.append("\(number) is rejected, but Apple took it") }
            case .retry?, .returned?:
                faults.append("\(number) ended with what is no end")
            }
        }
        return faults
    }

    var doubled: Int { taken.values.count { $0 > 1 } }
}

/// One line of the simulator's record.
struct ReceivedLine: Decodable {
    let number: Int
    let id: String
    let accepted: Bool
    let unprocessed: Bool?

    var isTaken: Bool { accepted && unprocessed != true }
}

extension SimulatedApple {
    func received(since: Int) async -> [ReceivedLine] {
        let text = await control("GET", "/received", query: "since=\(since)&limit=50000")
        let decoder = JSONDecoder()
        return text.split(separator: "\n").compactMap { try? decoder.decode(ReceivedLine.self, from: Data($0.utf8)) }
    }
}
