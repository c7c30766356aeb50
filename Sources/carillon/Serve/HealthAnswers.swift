import PushLoop
import PushTransport

/// What machines ask a Carillon over HTTP: whether it lives, whether a push would go out, and its numbers.
struct HealthAnswers: Sendable {
    struct Answer: Sendable {
        var status = 200
        var type = "application/json"
        var body: [UInt8]
        /// For 405.
        var allow: String?
    }

    let gateways: ServedGateways
    let pipeline: Pipeline
    let pipelineMetrics: PipelineMetrics
    let metrics: MetricsRegistry

    func answer(_ request: HTTP1Request) async -> Answer {
        let path = request.path.joined(separator: "/")
        guard ["healthz", "readyz", "metrics"].contains(path) else {
            return Self.refusal(ControlFault(404, "not_found", "there is nothing at \(request.target)"))
        }
        guard request.method == .get || request.method == .head else {
            var answer = Self.refusal(
                ControlFault(405, "method_not_allowed", "\(request.method.rawValue) does nothing here; ask with GET"))
            answer.allow = "GET, HEAD"
            return answer
        }
        switch path {
        case "healthz":
            return Answer(type: "text/plain; charset=utf-8", body: Array("ok\n".utf8))
        case "readyz":
            let readiness = pipeline.readiness(of: await gateways.statuses())
            return Answer(
                status: readiness.ready ? 200 : 503, body: ControlAnswer.json(readiness).body)
        default:
            let statuses = await gateways.refreshMetrics()
            await pipelineMetrics.refresh(pipeline, isReady: pipeline.readiness(of: statuses).ready)
            return Answer(type: MetricsRegistry.contentType, body: Array(metrics.render().utf8))
        }
    }

    private static func refusal(_ fault: ControlFault) -> Answer {
        let answer = ControlAnswer.refused(fault)
        return Answer(status: answer.status, body: answer.body)
    }
}
