import PushLoop
import Testing

@testable import PushPostgreSQL

@Suite struct SessionMachineTests {
    private static let one = PostgreSQLTarget(host: PostgreSQLHost(name: "db1"), address: "10.0.0.1")
    private static let two = PostgreSQLTarget(host: PostgreSQLHost(name: "db2"), address: "10.0.0.2")
    private static let info = ServerInfo(
        target: two, version: 150_018, systemIdentifier: 1, timeline: 1, synchronousStandbys: "a", clockOffset: .zero,
        roundTrip: .zero)

    private func time(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    @Test func `Hosts are tried in turn until one is accepted`() {
        var machine = SessionMachine()
        #expect(machine.started() == [.resolve])
        #expect(machine.started() == [])
        #expect(machine.resolved([Self.one, Self.two], faults: []) == [.connect(Self.one)])
        #expect(machine.failed("standby", now: time(1)) == [.disconnect, .connect(Self.two)])
        #expect(machine.accepted(Self.info, now: time(2)) == [.reportUp(Self.info)])
        #expect(machine.isUp)
    }

    @Test func `An outage is reported once, and every failed round for the log`() {
        var machine = SessionMachine()
        _ = machine.started()
        #expect(
            machine.resolved([], faults: ["no name"]) == [
                .reportDown("no name"), .reportFailure("no name"), .retry(failures: 1),
            ])
        #expect(machine.retryDue() == [.resolve])
        _ = machine.resolved([Self.one, Self.two], faults: [])
        _ = machine.failed("a", now: time(1))
        #expect(machine.failed("b", now: time(1)) == [.disconnect, .reportFailure("a; b"), .retry(failures: 2)])
        _ = machine.retryDue()
        _ = machine.resolved([Self.one], faults: [])
        _ = machine.accepted(Self.info, now: time(2))
        // It was up long enough, so it is opened again without a delay.
        #expect(machine.failed("lost", now: time(12)) == [.disconnect, .reportDown("lost"), .retry(failures: 0)])
        #expect(machine.retryDue() == [.resolve])
        #expect(machine.resolved([], faults: ["x"]) == [.reportFailure("x"), .retry(failures: 1)])
    }

    @Test func `The address that was lost is tried last`() {
        var machine = SessionMachine()
        _ = machine.started()
        _ = machine.resolved([Self.one, Self.two], faults: [])
        _ = machine.accepted(Self.info, now: time(0))
        _ = machine.failed("lost", now: time(20))
        _ = machine.retryDue()
        #expect(machine.resolved([Self.one, Self.two], faults: []) == [.connect(Self.two)])
        #expect(machine.failed("standby", now: time(21)) == [.disconnect, .connect(Self.one)])
        _ = machine.accepted(Self.info, now: time(22))
        _ = machine.failed("lost", now: time(23))
        _ = machine.retryDue()
        #expect(machine.resolved([Self.one, Self.two], faults: []) == [.connect(Self.two)])
    }

    @Test func `A session that is lost at once counts as a failure`() {
        var machine = SessionMachine()
        _ = machine.started()
        for round in 1...3 {
            _ = machine.resolved([Self.one], faults: [])
            _ = machine.accepted(Self.info, now: time(0))
            #expect(
                machine.failed("lost", now: time(9)) == [.disconnect, .reportDown("lost"), .retry(failures: round)])
            _ = machine.retryDue()
        }
    }

    @Test func `A stopped session does nothing`() {
        var machine = SessionMachine()
        _ = machine.started()
        _ = machine.resolved([Self.one], faults: [])
        #expect(machine.stopped() == [.disconnect])
        #expect(machine.stopped() == [] && machine.failed("x", now: time(1)) == [] && machine.retryDue() == [])
        #expect(machine.resolved([Self.one], faults: []) == [] && machine.accepted(Self.info, now: time(1)) == [])
    }
}

@Suite struct ServerFactsTests {
    private static var sound: ServerFacts {
        var facts = ServerFacts()
        facts.version = 150_018
        facts.fsync = "on"
        facts.fullPageWrites = "on"
        facts.synchronousCommit = "on"
        facts.synchronousStandbys = "ANY 1 (a, b)"
        return facts
    }

    private static let target = PostgreSQLTarget(host: PostgreSQLHost(name: "db1"), address: nil)

    @Test func `A sound server has no fault`() {
        #expect(Self.sound.faults(at: Self.target, durability: .replicated).first == nil)
        var facts = Self.sound
        facts.synchronousCommit = "remote_apply"
        #expect(facts.faults(at: Self.target, durability: .replicated).first == nil)
        facts.synchronousStandbys = ""
        #expect(facts.faults(at: Self.target, durability: .single).first == nil)
    }

    @Test func `Each fault has its reason`() throws {
        func expect(_ text: String, change: (inout ServerFacts) -> Void) throws {
            var facts = Self.sound
            change(&facts)
            let fault = try #require(facts.faults(at: Self.target, durability: .replicated).first)
            #expect(fault.contains(text) && fault.contains("db1"))
        }
        try expect("PostgreSQL 15") { $0.version = 140_099 }
        try expect("standby") { $0.isInRecovery = true }
        try expect("fsync = on") { $0.fsync = "off" }
        try expect("full_page_writes = on") { $0.fullPageWrites = "off" }
        try expect("synchronous_commit = on") { $0.synchronousCommit = "local" }
        try expect("synchronous_commit = on") { $0.synchronousCommit = "remote_write" }
        try expect("synchronous_standby_names") { $0.synchronousStandbys = " " }
    }

    @Test func `The clock is compared with the middle of the round trip`() {
        var facts = Self.sound
        facts.time = PostgreSQLTimestamp(WallTime(milliseconds: 2_000_000_005_000))
        let info = facts.info(
            at: Self.target, sent: WallTime(milliseconds: 2_000_000_000_000),
            received: WallTime(milliseconds: 2_000_000_000_100))
        #expect(info.clockOffset == .milliseconds(4950) && info.roundTrip == .milliseconds(100))
    }
}
