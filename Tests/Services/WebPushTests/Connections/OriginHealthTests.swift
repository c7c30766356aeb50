import PushTime
import Testing

@testable import WebPush

@Suite struct OriginHealthTests {
    private let policy = OriginHealth.Policy()

    private func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    @Test("The breaker opens after failures in a row, and an answer between them starts the count again")
    func opens() {
        var health = OriginHealth()
        for _ in 0..<4 { health.failed(by: policy, now: at(0), random: 0) }
        #expect(!health.isOpen)
        health.succeeded()
        for _ in 0..<4 { health.failed(by: policy, now: at(0), random: 0) }
        #expect(!health.isOpen && !health.isTroubled)
        health.failed(by: policy, now: at(0), random: 0)
        #expect(health.opensUntil == at(5))
    }

    @Test("After its pause one answer closes it, and another failure doubles the pause")
    func halfOpen() {
        var health = OriginHealth()
        for _ in 0..<5 { health.failed(by: policy, now: at(0), random: 0) }
        health.timePassed(now: at(4))
        #expect(health.isOpen)
        health.timePassed(now: at(5))
        #expect(health.isHalfOpen)
        health.failed(by: policy, now: at(5), random: 0)
        #expect(health.opensUntil == at(15))
        health.timePassed(now: at(15))
        health.succeeded()
        #expect(health.state == .closed(failures: 0) && !health.isTroubled)
    }

    @Test(
        "Retry-After opens it for that time, within bounds",
        arguments: [(30, 30), (0, 5), (-1, 5), (1_000_000, 300), (Int.max, 300), (Int.min, 5)])
    func asked(_ asked: Int, _ pause: Int) {
        var health = OriginHealth()
        health.failed(asked: asked, by: policy, now: at(0), random: 0)
        #expect(health.opensUntil == at(pause))
    }

    @Test("The answer to an earlier request does not end the pause that the origin has asked for")
    func lateAnswer() {
        var health = OriginHealth()
        health.connectFailed(by: policy, now: at(0), random: 0)
        health.failed(asked: 60, by: policy, now: at(0), random: 0)
        health.succeeded()
        #expect(health.opensUntil == at(60) && health.connectsAt == nil)
        health.timePassed(now: at(60))
        health.succeeded()
        #expect(health.state == .closed(failures: 0) && !health.isTroubled)
    }

    @Test("Attempts to connect wait longer after each failure, with jitter, and open the breaker in the end")
    func connecting() {
        var health = OriginHealth()
        health.connectFailed(by: policy, now: at(0), random: 0)
        #expect(health.connectsAt == at(1) && health.isTroubled && !health.isOpen)
        health.connectFailed(by: policy, now: at(1), random: 0)
        #expect(health.connectsAt == at(3))
        health.connectFailed(by: policy, now: at(3), random: 1)
        #expect(health.connectsAt == at(5))
        health.connectFailed(by: policy, now: at(5), random: 0)
        health.connectFailed(by: policy, now: at(13), random: 0)
        #expect(health.isOpen)
        for _ in 0..<1000 { health.connectFailed(by: policy, now: at(13), random: 0) }
        #expect(health.connectsAt == at(43))
    }
}
