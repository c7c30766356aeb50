import PushModel
import PushTime
import PushTransport
import Testing

@testable import PushAPI

/// The shares of live streams and of requests that wait.
@Suite struct EventSeatsTests {
    private func client(_ key: String, at address: String) -> EventSeats.Client {
        let key = APIKey(
            id: APIKeyID(String(repeating: key, count: 8))!, name: APIKeyName(key)!, roles: RoleSet([.observe]),
            apps: nil,
            createdAt: WallTime(milliseconds: 0))
        return EventSeats.Client(Caller(key), at: .address(host: address, port: 1))
    }

    private let local = EventSeats.Client(.local, at: .local)

    /// Takes places until there is none.
    private func fill(
        _ seats: inout EventSeats, by client: EventSeats.Client, takes expected: Int, until refusal: EventSeats.Refusal
    ) {
        var count = 0
        do throws(EventSeats.Refusal) {
            while true {
                try seats.take(client)
                count += 1
            }
        } catch {
            #expect(error == refusal)
        }
        #expect(count == expected)
    }

    @Test func `A key, an address and all of them leave some places to others`() throws {
        var seats = EventSeats(limit: 64)
        fill(&seats, by: client("a", at: "192.0.2.1"), takes: 16, until: .keyHasItsShare)
        fill(&seats, by: client("a", at: "192.0.2.2"), takes: 0, until: .keyHasItsShare)
        fill(&seats, by: client("b", at: "192.0.2.1"), takes: 16, until: .keyHasItsShare)
        fill(&seats, by: client("c", at: "192.0.2.1"), takes: 0, until: .addressHasItsShare)
        fill(&seats, by: client("c", at: "192.0.2.2"), takes: 16, until: .keyHasItsShare)
        fill(&seats, by: client("d", at: "192.0.2.3"), takes: 8, until: .full)
        // The control socket has some of its own.
        fill(&seats, by: local, takes: 8, until: .full)
        seats.release(client("b", at: "192.0.2.1"))
        try seats.take(local)
        seats.release(local)
        for _ in 0..<8 { seats.release(local) }
        fill(&seats, by: client("c", at: "192.0.2.1"), takes: 0, until: .keyHasItsShare)
        fill(&seats, by: client("d", at: "192.0.2.1"), takes: 1, until: .full)
    }

    @Test func `What is released can be taken again`() throws {
        var seats = EventSeats(limit: 16)
        for _ in 0..<1000 {
            try seats.take(client("a", at: "192.0.2.1"))
            try seats.take(local)
            seats.release(client("a", at: "192.0.2.1"))
            seats.release(local)
        }
        #expect(seats.count == 0)
        fill(&seats, by: local, takes: 16, until: .full)
    }
}
