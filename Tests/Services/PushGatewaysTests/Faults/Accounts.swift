import Foundation
import PushModel
import Testing

/// Compares two records: the outcomes that the gateway reported, and the requests that the simulated Apple processed.
struct Accounts {
    /// How often the simulator processed and accepted each apns-id.
    private var taken: [String: Int] = [:]

    /// The number of the last record that was read from the simulator.
    private(set) var last = 0

    /// Reads the simulator's records with numbers above `since`.
    init(_ apple: SimulatedApple, since: Int = 0) async throws {
        last = since
        while true {
            let lines = await apple.received(since: last)
            if lines.isEmpty { return }
            // The simulator must not have dropped any record.
            #expect(lines[0].number == last + 1)
            for line in lines {
                last = max(last, line.number)
                if line.isTaken { taken[line.id, default: 0] += 1 }
            }
        }
    }

    /// - Returns: a text for each mismatch; empty if everything matches.
    func faults(_ book: GatewayOwner.Book, _ deliveries: [Delivery], resendsUnknown: Bool = true) -> [String] {
        var faults: [String] = []
        if book.surplus > 0 { faults.append("\(book.surplus) duplicate reports") }
        for (number, delivery) in deliveries.enumerated() {
            let times = taken[delivery.deliveryID.description] ?? 0
            let unknown = book.unknown[number]
            switch book.terminal[number] {
            case nil:
                faults.append("\(number) has no outcome")
            case .sent?:
                if times == 0 { faults.append("\(number) is reported as accepted, but Apple did not accept it: lost") }
                // Apple may have accepted each unknown attempt, and no other one.
                if times > 1 + unknown {
                    faults.append("\(number) was accepted \(times) times, with \(unknown) unknown attempts: duplicated")
                }
            case .unknown?:
                if times > 1 { faults.append("\(number) must not be sent again, but was accepted \(times) times") }
            case .rejected?, .expired?:
                if times > unknown { faults.append("\(number) is reported as rejected, but Apple accepted it") }
            case .retry?, .suppressed?, .superseded?, .expiredBecause?:
                faults.append("\(number) ended with an outcome that is not final")
            }
        }
        return faults
    }

    var doubled: Int { taken.values.count { $0 > 1 } }
}

/// One line of the simulator's records.
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
