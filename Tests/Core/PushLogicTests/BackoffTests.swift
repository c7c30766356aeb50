import PushLogic
import Testing

@Suite struct BackoffTests {
    @Test func `Delays double up to the longest, and randomness removes up to a half`() {
        let backoff = Backoff()
        #expect(
            (0...9).map { backoff.delay(afterFailures: $0, random: 0) }
                == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
        #expect(backoff.delay(afterFailures: 3, random: 0.5) == .seconds(3))
        #expect(backoff.delay(afterFailures: .max, random: 1) == .seconds(30))
    }
}
