import FoundationEssentials
import PushModel
import PushTransport
import TestTraits
import Testing

@testable import PushAPI

/// Tests that `Documentation/HTTP.md` agrees with what is served, and with the limits in the code.
@Suite(.waits) struct HTTPPageTests {
    @Test func `Each example of the page has the answer of the page`() async throws {
        try await PythonScene.run("http_page", "examples")
    }

    @Test func `The page has every route, with its roles, its parameters, and all codes`() async throws {
        try await PythonScene.run("http_page", "routes")
    }

    @Test func `The limits of the page are those of the code`() throws {
        var path = #filePath.split(separator: "/")
        path.removeLast(5)
        let file = "/" + path.joined(separator: "/") + "/Documentation/HTTP.md"
        let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
        let (port, control) = (HTTP1Limits(), HTTP1Limits.controlSocket)
        for phrase in [
            "| \(port.headerBytes >> 10) KiB, \(port.headerCount) fields |", "| body | \(port.bodyBytes >> 20) MiB |",
            "| \(PushMessages.maxLinesBytes >> 20) MiB |", "| \(port.allBodiesBytes >> 20) MiB |",
            "| \(Self.seconds(port.headerTime)); control socket: \(Self.seconds(control.headerTime)) |",
            "\(Self.seconds(port.bodyTime)), and a second for each \(port.bodyRate >> 10) KiB; "
                + "control socket: \(Self.seconds(control.bodyTime)) |",
            "| \(Self.seconds(port.idleTime)); control socket: \(Self.seconds(control.idleTime)) |",
            "| \(Self.seconds(port.stallTime)); control socket: \(Self.seconds(control.stallTime)) |",
            "reads it for \(Self.seconds(port.lingerTime)),", "| nesting of JSON | \(RequestInput.depthLimit) levels |",
            "| connections to the control socket | \(control.connections) |",
            "| live streams of events | \(EventStreams.limit) |",
            "| requests that wait for events | \(ReadEvents.maxWaiting) |", "up to \(ReadEvents.maxWait) seconds",
            "1 to \(ReadEvents.maxEvents / 1000),000; 1,000 by default",
            "1 to \(DeviceSearch.maxPageSize / 1000),000; 100 by default",
            "1 to \(ListMessages.maxPageSize); 50 by default", "1 to \(ReportSeen.maxReports) objects",
            "up to \(RegisterDevices.maxRegistrations / 1000),000 as", "up to \(DeviceInput.maxUserLength) bytes",
            "up to \(DeviceInput.maxTags) of \(DeviceInput.maxTagLength) bytes each",
            "up to \(DeviceInput.maxWordLength) bytes",
        ] {
            // The page itself would fill the report.
            let isStated = text.contains(phrase)
            #expect(isStated, "the page does not say: \(phrase)")
        }
        #expect(control.bodyBytes == port.bodyBytes)
    }

    private static func seconds(_ duration: Duration) -> String { "\(duration.components.seconds) s" }
}
