/// The endpoints of gateways.
package enum GatewayEndpoints {
    package static func all(_ control: any GatewayControl) -> [AnyEndpoint] {
        [
            AnyEndpoint(ListGateways(control: control)), AnyEndpoint(GetGateway(control: control)),
            AnyEndpoint(ScaleGateway(control: control)), AnyEndpoint(PauseGateway(control: control)),
            AnyEndpoint(ResumeGateway(control: control)),
        ]
    }
}
