/// The endpoints of gateways.
package enum GatewayEndpoints {
    package static func all(_ control: any GatewayControl) -> [AnyEndpoint] {
        [
            AnyEndpoint(ListGateways(control: control)), AnyEndpoint(GetGateway(control: control)),
            AnyEndpoint(ScaleGateway(control: control)), AnyEndpoint(SetPaused(to: true, control: control)),
            AnyEndpoint(SetPaused(to: false, control: control), as: SetPaused.resumption),
        ]
    }
}
