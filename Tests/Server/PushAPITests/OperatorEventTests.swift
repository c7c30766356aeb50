import PushLoop
import PushModel
import PushTransport
import ServerTestSupport
import Testing

@testable import PushAPI

/// Tests of the events that say who did what.
@Suite struct OperatorEventTests {
    private static func record(
        _ change: OperatorChange, by caller: Caller, from peer: HTTP1Peer = .address(host: "192.0.2.7", port: 4711)
    ) async throws -> [EventDraft] {
        let events = Locked<[EventDraft]>([])
        let journal = OperatorJournal { changes, author, done in
            events.withLock { $0 += changes.map { $0.event(by: author) } }
            done()
        }
        let request = try HTTP1Request(method: .post, target: "/", headers: [:], body: [], peer: peer)
        await journal.record([change], by: caller, of: request)
        return events.withLock { $0 }
    }

    private static func members(_ event: EventDraft?) -> [String: EventDraft.Detail.Value] {
        Dictionary(uniqueKeysWithValues: event?.details.map { ($0.name.text, $0.value) } ?? [])
    }

    @Test func `An event has who, what, before and after`() async throws {
        let change = OperatorChange(
            .operatorPause, app: PipelineScene.shop, of: "sending", before: "running", after: "paused")
        let events = try await Self.record(change, by: .tester("ops", roles: [.operate, .push]))
        #expect(events.map(\.kind) == [.operatorPause] && events.map(\.app) == [PipelineScene.shop])
        #expect(
            Self.members(events.first) == [
                "who": .text("key:ops"), "roles": .text("push, operate"), "from": .text("192.0.2.7"),
                "what": .text("sending"), "before": .text("running"), "after": .text("paused"),
            ])
        #expect(EventKind.operatorPause.topic(of: PipelineScene.shop) == "operator/shop/pause")
        let local = try await Self.record(OperatorChange(.operatorReload), by: .local, from: .local)
        #expect(Self.members(local.first) == ["who": .text("local")])
    }

    @Test(arguments: [[Role.push], [.register], [.push, .register, .observe]])
    func `What a key does without the role operate leaves no event`(roles: [Role]) async throws {
        let change = OperatorChange(.operatorCancel, app: PipelineScene.shop)
        #expect(try await Self.record(change, by: .tester("backend", roles: roles)).isEmpty)
    }

    @Test func `Texts are cut, and have no control characters`() {
        let long = String(repeating: "x", count: 2 * OperatorChange.maxLength)
        let change = OperatorChange(.operatorReload, of: long, after: "a\nb")
        #expect((change.what?.count ?? 0) <= OperatorChange.maxLength + 3)
        #expect(change.after == "a?b")
    }

    @Test func `Each operation that changes something for operators declares its events`() async throws {
        let loop = EventLoop(name: "operators-test")
        for endpoint in PipelineScene.endpoints(on: loop) {
            let operation = endpoint.operation
            guard case .roles(let roles) = operation.access else { continue }
            let isChange = operation.method != .get && (roles.contains(.operate) || roles.contains(.admin))
            let isExport = ["exportDevices", "getUser"].contains(operation.id)
            #expect(!operation.records.isEmpty == (isChange || isExport), "\(operation.id)")
            let others = operation.records.filter { !$0.isOperator }
            #expect(others.isEmpty, "\(operation.id)")
            // Only answers of tasks are recorded.
            if !operation.records.isEmpty, case .task = endpoint.handling { continue }
            #expect(operation.records.isEmpty, "\(operation.id)")
        }
        await loop.shutDown()
    }
}
