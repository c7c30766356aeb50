import PushModel
import PushStore
import TestSupport
import Testing

@testable import PushServer

@Suite struct RenewalFileTests {
    @Test func `The file of the last renewal is replaced, and one that is not understood is like none`() throws {
        let directory = try TemporaryDirectory()
        let file = RenewalFile(in: directory.path)
        #expect(file.read() == nil)
        for number in [1, 7, .max] as [Int64] {
            let seen = SeenRenewal(number, node: try #require(NodeID("a")), cluster: -5, system: .max, timeline: 3)
            try file.write(seen)
            #expect(file.read() == seen)
        }
        for text in [
            "", "{}", #"{"v":2,"node":"a","cluster":1,"number":1,"system":1,"timeline":1}"#,
            #"{"v":1,"node":"a","cluster":1,"number":1,"system":-1,"timeline":1}"#,
            #"{"v":1,"node":"a","cluster":1,"number":1e300,"system":1,"timeline":1}"#,
            #"{"v":1,"node":"/","cluster":1,"number":1,"system":1,"timeline":1}"#,
            String(repeating: "[", count: 4000), String(repeating: "[", count: 10_000),
        ] {
            _ = try directory.write(RenewalFile.name, containing: text)
            #expect(file.read() == nil, "\(text.prefix(100))")
        }
    }

    @Test func `The newest renewal is in the file at the end, and a missing directory is reported`() async throws {
        let directory = try TemporaryDirectory()
        let file = RenewalFile(in: directory.path)
        let node = try #require(NodeID("a"))
        let warnings = EventRecorder<String>()
        let renewals = SeenRenewals(file, warning: { warnings.record($0) })
        for number in 1...100 as ClosedRange<Int64> {
            renewals.take(SeenRenewal(number, node: node, cluster: 1, system: 1, timeline: 1))
        }
        await renewals.stop()
        #expect(file.read()?.number == 100 && warnings.events.isEmpty)
        let lost = SeenRenewals(RenewalFile(in: directory.path + "/missing"), warning: { warnings.record($0) })
        lost.take(SeenRenewal(1, node: node, cluster: 1, system: 1, timeline: 1))
        await lost.stop()
        #expect(warnings.events.last?.contains("/missing/renewal.json: No such file or directory") == true)
    }
}
